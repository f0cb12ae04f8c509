-- read_live_jobs: the state of several jobs, with what their running tasks say
-- params: job_ids uuid[]
-- returns: a row per job that is there and that the caller may see
-- locks: none
SELECT j.id, j.status, j.progress, j.result, j.error,
       j.phase_names, j.phase_ends, j.phase_total, j.phase_done,
       CASE WHEN j.status = 'processing' THEN (
         SELECT coalesce(jsonb_agg(jsonb_build_object(
                  'phase', t.phase, 'fraction', l.progress, 'message', l.message,
                  'chunks', CASE WHEN t.executor = 'fleet' AND jsonb_typeof(t.input -> 'iterations') = 'number'
                                  AND jsonb_typeof(t.input -> 'size') = 'number'
                            THEN ceil((t.input ->> 'iterations')::numeric
                                      / nullif((t.input ->> 'size')::numeric, 0)) END)), '[]')
           FROM public.job_tasks t
           JOIN public.task_leases l ON l.task_id = t.id AND l.claim_token = t.claim_token
          WHERE t.job_id = j.id AND t.status = 'claimed'
       ) ELSE '[]' END AS running
  FROM public.jobs j
 WHERE j.id = ANY ($1)
