-- reclaim_stale_tasks: take back tasks whose worker fell silent, and tell on 'shoal_watched' that somebody looked
-- params: none
-- returns: how many were taken back; 0 also while another process is doing it
-- locks: the tasks and all their descendants by id, then the jobs by id
SELECT public.reclaim_stale_tasks(), pg_notify('shoal_watched', '')
