-- replay_dead_letters: try again to tell a sink what it could not be told
-- params: sink text, event_ids uuid[]
-- returns: how many events
-- locks: the dead letters
SELECT public.replay_dead_letters($1, $2)
