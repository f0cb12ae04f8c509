-- list_schedules: a page of the caller's schedules, by name
-- params: name text, status text, after_name text, after_id uuid, page_size int
-- returns: rows, as of read_schedule; null filters do not filter; after_name and after_id are those of the last row
--   of the page before
-- locks: none
SELECT s.schedule_id, s.schedule_name::text AS schedule_name, s.frequency_unit::text AS frequency_unit, s.frequency_time,
       s.cron, s.zone, s.start_ts, s.end_ts, s.next_fire_ts, s.next_run_ts, s.event_topic::text AS event_topic,
       s.event_type::text AS event_type, s.event_data::text AS event_data, s.aggregate_version, s.active, s.max_runs,
       s.runs, s.jitter_s, s.missed_runs, s.missed_limit, s.missed_window_s, s.overlap, s.paused_at, s.pause_reason,
       s.error, s.ended_at, s.created_at, s.updated_at
  FROM public.schedule_t s
 WHERE ($1::text IS NULL OR s.schedule_name = $1)
   AND ($2::text IS NULL OR $2 = CASE WHEN s.ended_at IS NOT NULL THEN 'ended' WHEN s.error IS NOT NULL THEN 'parked'
                                      WHEN s.active THEN 'active' ELSE 'paused' END)
   AND ($3::text IS NULL OR (s.schedule_name::text, s.schedule_id) > ($3, $4::uuid))
 ORDER BY s.schedule_name::text, s.schedule_id
 LIMIT $5
