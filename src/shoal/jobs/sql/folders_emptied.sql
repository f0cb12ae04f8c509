-- folders_emptied: record that nothing is left in the folders of these deleted jobs
-- params: job_ids uuid[]
-- returns: nothing
-- locks: the rows
UPDATE shoal.deleted_jobs SET empty_at = NULL WHERE job_id = ANY ($1)
