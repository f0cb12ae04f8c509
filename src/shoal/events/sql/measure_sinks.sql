-- measure_sinks: how far each sink is, as far as the caller may see
-- params: at_most int
-- returns: rows (name, kind, patterns, user_id, config, paused_because, created_at, behind, oldest_s, dead,
--   last_error), those furthest behind first
-- locks: none
SELECT s.name, s.kind, s.patterns::text[], s.user_id, s.config, s.paused_because, s.created_at,
       c.behind, coalesce(extract(epoch FROM clock_timestamp() - c.since), 0)::double precision AS oldest_s,
       (SELECT count(*) FROM public.event_dead_letter_t d WHERE d.sink = s.name) AS dead, c.last_error
  FROM public.event_sink_t s
  LEFT JOIN LATERAL (
    SELECT coalesce(sum(p.last_position - k.position), 0)::bigint AS behind, max(k.last_error) AS last_error,
           -- Since when: the cursor has not moved while there was more. An upper bound that costs nothing.
           min(k.moved_at) FILTER (WHERE k.position < p.last_position) AS since
      FROM public.consumer_offset_t k JOIN public.outbox_partition_t p ON p.partition = k.partition
     WHERE k.sink = s.name) c ON true
 ORDER BY c.behind DESC, s.name
 LIMIT $1
