-- read_fleet_tasks: claimed tasks of the fleet, with what their plans are made of
-- params: task_ids uuid[]
-- returns: a row per task that is claimed (id, job_id, user_id, claim_token, input, order_key, age_s, needs); age_s is how
--   long ago it was claimed, needs maps the names of the tasks it needed to their outputs
-- locks: none
SELECT t.id, t.job_id, j.user_id, t.claim_token, t.input, t.order_key,
       extract(epoch FROM clock_timestamp() - t.claimed_at)::double precision AS age_s,
       CASE WHEN t.fan_in > 0 THEN (
         SELECT jsonb_object_agg(n.name, n.output) FROM public.task_edges e
           JOIN public.job_tasks n ON n.id = e.needs WHERE e.task_id = t.id) END AS needs
  FROM public.job_tasks t JOIN public.jobs j ON j.id = t.job_id
 WHERE t.id = ANY ($1) AND t.executor = 'fleet' AND t.status = 'claimed'
