-- forget_dead_letters: give up what a sink could not be told
-- params: sink text, event_ids uuid[]
-- returns: how many events
-- locks: the dead letters
SELECT public.forget_dead_letters($1, $2)
