-- release_tasks: hand back unfinished tasks without burning an attempt
-- params: worker_id text, task_ids uuid[], claim_tokens uuid[]
-- returns: how many were still held
-- locks: the tasks by id, then the jobs by id
SELECT shoal.release_tasks($1, $2, $3)
