-- read_job: one job with its counters and what its running tasks say
-- params: job_id uuid
-- returns: one row, or none when there is no such job or the caller may not see it
-- locks: none
SELECT j.id, j.type, j.params, j.status, j.progress, j.result, j.error, j.priority, j.unique_key,
       j.created_at, j.started_at, j.finished_at, j.phase_names, j.phase_ends, j.phase_total, j.phase_done,
       CASE WHEN j.status = 'processing' THEN (
         SELECT coalesce(jsonb_agg(jsonb_build_object(
                  'phase', t.phase, 'fraction', l.progress, 'message', l.message)), '[]')
           FROM public.job_tasks t
           JOIN public.task_leases l ON l.task_id = t.id AND l.claim_token = t.claim_token
          WHERE t.job_id = j.id AND t.status = 'claimed'
       ) ELSE '[]' END AS running
  FROM public.jobs j
 WHERE j.id = $1
