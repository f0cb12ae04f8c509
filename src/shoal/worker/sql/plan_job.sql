-- plan_job: replace the plan task this worker holds by the graph it worked out
-- params: worker_id text, task_id uuid, claim_token uuid, graph jsonb
-- returns: false when the lease was lost
-- locks: the plan task, then the job
SELECT shoal.plan_job($1, $2, $3, $4)
