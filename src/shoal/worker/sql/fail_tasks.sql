-- fail_tasks: give back tasks that failed, to be tried again or to end in failure
-- params: worker_id text, task_ids uuid[], claim_tokens uuid[], errors text[], permanent boolean[],
--   retry_after_s real[]
-- returns: (task_id, verdict): retrying, failed or lease_lost
-- locks: the tasks and all their descendants by id, then the jobs by id
SELECT task_id, verdict FROM shoal.fail_tasks($1, $2, $3, $4, $5, $6)
