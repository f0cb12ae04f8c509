-- complete_tasks: record outputs and release what waited for them
-- params: worker_id text, task_ids uuid[], claim_tokens uuid[], outputs text[]
-- returns: (task_id, verdict) of what this call did not complete: already_completed or lease_lost
-- locks: the tasks and their dependants by id, then the jobs by id
-- An output that is a list would become a dimension of a jsonb[]: the outputs travel as written JSON.
SELECT task_id, verdict FROM shoal.complete_tasks($1, $2, $3, $4::text[]::jsonb[])
