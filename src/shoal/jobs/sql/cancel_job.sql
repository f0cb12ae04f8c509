-- cancel_job: end a job and every task of it that has not ended
-- params: job_id uuid, reason text
-- returns: the status the job then has
-- locks: all its tasks by id, then the job
SELECT public.cancel_job($1, $2)
