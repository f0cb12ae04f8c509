-- take_turn: whether a chore is due; it is then due again after a while
-- params: name text, again_after interval
-- returns: the time of the database when the chore is the caller's, else nothing
-- locks: the row of the chore
INSERT INTO shoal.chores AS c (name, due_at) VALUES ($1, clock_timestamp() + $2)
ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at WHERE c.due_at <= clock_timestamp()
RETURNING clock_timestamp()
