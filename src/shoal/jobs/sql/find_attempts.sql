-- find_attempts: of these tasks, the attempt that counts: the one that runs, or that completed
-- params: task_ids uuid[]
-- returns: rows (task_id, job_id, user_id, claim_token); the token is null when none counts
-- locks: none
SELECT t.id AS task_id, t.job_id, j.user_id,
       CASE WHEN t.status IN ('claimed', 'complete') THEN t.claim_token END AS claim_token
  FROM public.job_tasks t JOIN public.jobs j ON j.id = t.job_id
 WHERE t.id = ANY ($1)
