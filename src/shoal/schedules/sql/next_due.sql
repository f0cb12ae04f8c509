-- next_due: in how many seconds the next schedule is due
-- params: none
-- returns: seconds, not less than zero; null when none is active
-- locks: none
SELECT greatest(extract(epoch FROM min(s.next_run_ts) - clock_timestamp()), 0)::float
  FROM public.schedule_t s WHERE s.active
