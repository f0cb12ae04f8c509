-- push_data_set: start a job that brings a data set to servers
-- params: jobs jsonb, user_id uuid
-- returns: the id of the job
-- locks: the new job
SELECT (public.create_jobs($1, $2))[1]
