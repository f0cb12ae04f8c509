-- read_schedule: one schedule
-- params: schedule_id uuid
-- returns: one row, or none when there is no such schedule or the caller may not see it
-- locks: none
SELECT s.schedule_id, s.schedule_name::text AS schedule_name, s.frequency_unit::text AS frequency_unit, s.frequency_time,
       s.cron, s.zone, s.start_ts, s.end_ts, s.next_fire_ts, s.next_run_ts, s.event_topic::text AS event_topic,
       s.event_type::text AS event_type, s.event_data::text AS event_data, s.aggregate_version, s.active, s.max_runs,
       s.runs, s.jitter_s, s.missed_runs, s.missed_limit, s.missed_window_s, s.overlap, s.paused_at, s.pause_reason,
       s.error, s.ended_at, s.created_at, s.updated_at
  FROM public.schedule_t s
 WHERE s.schedule_id = $1
