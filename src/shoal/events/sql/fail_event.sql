-- fail_event: end a turn with an event that could not be told; those before it were
-- params: sink text, holder uuid, partition smallint, position bigint, event_id uuid, kind text, error text
-- returns: retrying | dead | lost
-- locks: the cursor
SELECT shoal.fail_event($1, $2, $3, $4, $5, $6, $7)
