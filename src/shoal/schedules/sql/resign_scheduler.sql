-- resign_scheduler: end one's own term, and wake those who wait for that
-- params: instance_id text, elected_at timestamptz
-- returns: nothing
-- locks: the row of the lock
SELECT shoal.resign_scheduler($1, $2)
