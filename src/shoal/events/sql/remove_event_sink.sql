-- remove_event_sink: tell a sink no more
-- params: name text
-- returns: nothing
-- locks: the sink, its cursors and dead letters
SELECT public.remove_event_sink($1)
