-- count_active_jobs: how many jobs have not ended
-- params: none
-- returns: the number
-- locks: none
SELECT count(*) FROM public.jobs WHERE status IN ('queued', 'processing')
