-- claim_folders: take folders of deleted jobs that are to be emptied; for ten minutes nobody else does
-- params: at_most int
-- returns: rows (job_id, user_id)
-- locks: the rows; passes over those that are held
UPDATE shoal.deleted_jobs d SET empty_at = clock_timestamp() + interval '10 minutes'
 WHERE d.job_id IN (SELECT o.job_id FROM shoal.deleted_jobs o
                     WHERE o.empty_at <= now()
                       AND NOT EXISTS (SELECT FROM public.jobs j WHERE j.id = o.job_id)
                     ORDER BY o.empty_at LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING d.job_id, d.user_id
