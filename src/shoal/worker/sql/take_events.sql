-- take_events: take a partition of a consumer for a turn, and read its next events
-- params: sink text, holder uuid, lease_s real, at_most int
-- returns: a row for each event, in order; one without an event when none is for this consumer
-- locks: a cursor that is free
SELECT partition, up_to, position, event_id AS id, event_type AS type, event_topic AS topic, aggregate_type,
       aggregate_id, aggregate_version, user_id, occurred_at, payload
  FROM shoal.take_events($1, $2, $3, 1, $4)
