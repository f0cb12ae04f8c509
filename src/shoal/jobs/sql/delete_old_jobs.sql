-- delete_old_jobs: delete a batch of the jobs that ended longer ago than they are kept
-- params: keep_ended interval, keep_failed interval
-- returns: one row (jobs, artifacts, bytes): how much; null keeps for ever
-- locks: their tasks by id, then the jobs by id, then what their users keep; passes over what is held
SELECT jobs, artifacts, bytes FROM shoal.delete_old_jobs($1, $2)
