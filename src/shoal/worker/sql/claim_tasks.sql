-- claim_tasks: take up to max_tasks ready tasks of the given types, with what is needed to run them
-- params: worker_id text, max_tasks int, task_types text[], lease_s int, claim_token uuid, repeated boolean
-- returns: rows of shoal.claim_work; when repeated, those the token holds already
-- locks: the tasks it takes, skipping held ones; then their jobs by id
-- Nobody waits for the disk: a claim that a crash forgets leaves its tasks to the next worker, and the fence
-- refuses what this one reports.
SELECT work.* FROM set_config('synchronous_commit', 'off', true), shoal.claim_work($1, $2, $3, $4, $5, $6) AS work
