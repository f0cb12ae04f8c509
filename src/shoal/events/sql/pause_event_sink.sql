-- pause_event_sink: hold a sink up, with the reason; null goes on
-- params: name text, because text
-- returns: nothing
-- locks: the sink
SELECT public.pause_event_sink($1, $2)
