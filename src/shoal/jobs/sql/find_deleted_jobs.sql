-- find_deleted_jobs: which of these jobs were deleted
-- params: job_ids uuid[]
-- returns: rows (job_id, user_id)
-- locks: none
SELECT d.job_id, d.user_id FROM shoal.deleted_jobs d
 WHERE d.job_id = ANY ($1) AND NOT EXISTS (SELECT FROM public.jobs j WHERE j.id = d.job_id)
