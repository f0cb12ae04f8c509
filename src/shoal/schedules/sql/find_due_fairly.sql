-- find_due_fairly: as find_due, when there is more to do than fits: each owner in turn, so that nobody's many
--   hold up somebody's one
-- params: at_most int
-- returns: rows, as of find_due
-- locks: none
SELECT s.schedule_id, s.aggregate_version, s.frequency_unit::text AS frequency_unit, s.frequency_time, s.cron, s.zone,
       s.start_ts, s.end_ts, s.next_fire_ts, s.next_run_ts, s.missed_runs, s.missed_limit, s.missed_window_s, s.jitter_s,
       s.max_runs, s.runs, clock_timestamp() AS now
  FROM (SELECT d.schedule_id, d.next_run_ts, row_number() OVER (PARTITION BY d.host_id ORDER BY d.next_run_ts) AS turn
          FROM public.schedule_t d
         WHERE d.active AND d.next_run_ts <= clock_timestamp()) w
  JOIN public.schedule_t s ON s.schedule_id = w.schedule_id
 ORDER BY w.turn, w.next_run_ts
 LIMIT $1
