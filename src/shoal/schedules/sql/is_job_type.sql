-- is_job_type: whether workers have registered a type of job
-- params: type text
-- returns: true or false
-- locks: none
SELECT EXISTS (SELECT FROM public.job_types t WHERE t.type = $1)
