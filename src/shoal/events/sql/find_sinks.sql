-- find_sinks: all sinks that a relay tells, with what their messages are signed with
-- params: none
-- returns: rows (name, kind, patterns, user_id, config, secret, paused_because)
-- locks: none
SELECT s.name, s.kind, s.patterns::text[], s.user_id, s.config, k.secret, s.paused_because
  FROM public.event_sink_t s LEFT JOIN shoal.sink_secrets k ON k.sink = s.name
 WHERE s.kind <> 'consumer' ORDER BY s.name
