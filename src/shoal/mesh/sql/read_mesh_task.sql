-- read_mesh_task: the task the mesh holds
-- params: none
-- returns: one row (id, job_id, claim_token, input), or none
-- locks: none
SELECT t.id, t.job_id, t.claim_token, t.input FROM public.job_tasks t
 WHERE t.executor = 'mesh' AND t.status = 'claimed' ORDER BY t.claimed_at LIMIT 1
