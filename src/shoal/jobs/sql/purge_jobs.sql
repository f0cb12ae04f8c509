-- purge_jobs: delete a batch of the caller's jobs that have ended; null filters do not filter
-- params: statuses text[], type text, finished_before timestamptz, user_id uuid, dry_run boolean
-- returns: one row (jobs, artifacts, bytes, more): how much, or in a dry run how much there is
-- locks: their tasks by id, then the jobs by id, then what their users keep; passes over what is held
SELECT jobs, artifacts, bytes, more FROM public.purge_jobs($1, $2, $3, $4, $5)
