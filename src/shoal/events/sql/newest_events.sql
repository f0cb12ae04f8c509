-- newest_events: the last events the caller may read, the newest first, and their places
-- params: types text[], aggregate_id text, page_size int
-- returns: rows of events with (tx, seq), their places; only what is older than every running transaction
-- locks: none
SELECT e.event_id, e.event_type::text, e.event_topic::text, e.aggregate_type::text, e.aggregate_id,
       e.aggregate_version, e.payload::jsonb, e.user_id, e.occurred_at, 0::bigint AS position, e.tx::text AS tx, e.seq
  FROM public.event_store_t e
 WHERE e.tx < pg_snapshot_xmin(pg_current_snapshot())
   AND ($1::text[] IS NULL OR EXISTS (
         SELECT FROM unnest($1::text[]) AS p
          WHERE p = '*' OR p = e.event_type OR right(p, 2) = '.*' AND starts_with(e.event_type, left(p, -1))))
   AND ($2::text IS NULL OR e.aggregate_id = $2)
 ORDER BY e.tx DESC, e.seq DESC
 LIMIT $3
