-- list_runs: a page of the runs of a schedule, latest first
-- params: schedule_id uuid, before_at timestamptz, before_kind text, page_size int
-- returns: rows (fire_ts, kind, fired_at, since_ts, event_id, outcome, job_id, error); before_at and before_kind are those
--   of the last row of the page before
-- locks: none
SELECT f.fire_ts, f.kind, f.fired_at, f.since_ts, f.event_id, f.outcome, f.job_id, f.error
  FROM public.schedule_fires f
 WHERE f.schedule_id = $1
   AND ($2::timestamptz IS NULL OR (f.fire_ts, f.kind) < ($2, $3::text))
 ORDER BY f.fire_ts DESC, f.kind DESC
 LIMIT $4
