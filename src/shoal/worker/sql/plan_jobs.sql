-- plan_jobs: replace the plan tasks this worker holds by the graphs it worked out
-- params: worker_id text, task_ids uuid[], claim_tokens uuid[], graphs text[]
-- returns: (task_id, verdict) of what this call did not plan: already_completed or lease_lost
-- locks: the plan tasks by id, then the jobs by id
-- A graph that is a list, which is refused, would become a dimension of a jsonb[]: they travel as written JSON.
SELECT task_id, verdict FROM shoal.plan_jobs($1, $2, $3, $4::text[]::jsonb[])
