-- renew_scheduler: the heartbeat of a term
-- params: instance_id text, elected_at timestamptz
-- returns: whether the term goes on; false when another one has begun
-- locks: the row of the lock
SELECT shoal.renew_scheduler($1, $2)
