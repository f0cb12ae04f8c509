-- elect_scheduler: begin a term of leading, if nobody leads
-- params: instance_id text, lease_s real
-- returns: one row: elected_at, or null when somebody leads; free_in_s, when that ends unless it is renewed
-- locks: the row of the lock
SELECT elected_at, free_in_s FROM shoal.elect_scheduler($1, $2)
