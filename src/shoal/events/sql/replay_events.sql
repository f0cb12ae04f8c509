-- replay_events: tell a sink again what happened
-- params: sink text, since timestamptz, until timestamptz, types text[], event_ids uuid[]
-- returns: how many events
-- locks: none
SELECT public.replay_events($1, $2, $3, $4, $5)
