-- job_exists: whether there is such a job that the caller may see
-- params: job_id uuid
-- returns: true or false
-- locks: none
SELECT EXISTS (SELECT FROM public.jobs j WHERE j.id = $1)
