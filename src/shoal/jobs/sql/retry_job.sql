-- retry_job: try everything of a job again that failed or was cancelled
-- params: job_id uuid
-- returns: how many tasks that is
-- locks: the tasks by id, then the job
SELECT public.retry_job($1)
