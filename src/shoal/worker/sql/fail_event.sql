-- fail_event: an event could not be handled; the turn is over
-- params: sink text, holder uuid, partition smallint, position bigint, event_id uuid, kind text, error text
-- returns: retrying | dead | lost
-- locks: the cursor
SELECT shoal.fail_event($1, $2, $3, $4, $5, $6, $7)
