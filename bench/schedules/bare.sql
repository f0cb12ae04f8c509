-- The rows that firing every schedule once would write, and nothing else.
WITH run AS (
  INSERT INTO schedule_fires (schedule_id, fire_ts, kind, event_id)
  SELECT schedule_id, next_fire_ts, 'scheduled', gen_random_uuid() FROM schedule_t
  RETURNING schedule_id, fire_ts, event_id
)
INSERT INTO event_store_t (event_id, aggregate_type, aggregate_id, event_type, event_topic, payload, user_id)
SELECT r.event_id, 'schedule', s.schedule_id::text, s.event_type, s.event_topic,
       shoal.run_payload(s.schedule_id, s.schedule_name, r.fire_ts, 'scheduled', s.event_data), s.host_id
  FROM run r JOIN schedule_t s USING (schedule_id)
