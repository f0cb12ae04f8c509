-- list_event_dead_letters: what sinks of the caller could not be told, latest first
-- params: sink text, before_at timestamptz, before_id uuid, page_size int
-- returns: rows of events with (sink, reason, attempts, failed_at)
-- locks: none
SELECT d.sink, d.reason, d.attempts, d.failed_at, e.event_id, e.event_type::text, e.event_topic::text,
       e.aggregate_type::text, e.aggregate_id, e.aggregate_version, e.payload::jsonb, e.user_id, e.occurred_at,
       0::bigint AS position
  FROM public.event_dead_letter_t d JOIN public.event_store_t e ON e.event_id = d.event_id
 WHERE ($1::text IS NULL OR d.sink = $1)
   AND ($2::timestamptz IS NULL OR (d.failed_at, d.event_id) < ($2, $3::uuid))
 ORDER BY d.failed_at DESC, d.event_id DESC
 LIMIT $4
