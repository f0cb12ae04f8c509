-- find_due: the schedules whose time has come, those that wait longest first
-- params: at_most int
-- returns: rows (schedule_id, aggregate_version, frequency_unit, frequency_time, cron, zone, start_ts, end_ts,
--   next_fire_ts, next_run_ts, missed_runs, missed_limit, missed_window_s, jitter_s, max_runs, runs, now)
-- locks: none
SELECT s.schedule_id, s.aggregate_version, s.frequency_unit::text AS frequency_unit, s.frequency_time, s.cron, s.zone,
       s.start_ts, s.end_ts, s.next_fire_ts, s.next_run_ts, s.missed_runs, s.missed_limit, s.missed_window_s, s.jitter_s,
       s.max_runs, s.runs, clock_timestamp() AS now
  FROM public.schedule_t s
 WHERE s.active AND s.next_run_ts <= clock_timestamp()
 ORDER BY s.next_run_ts
 LIMIT $1
