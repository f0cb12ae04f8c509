-- read_task: one task with what it needs and how far it is
-- params: task_id uuid
-- returns: one row like those of list_tasks, or none when there is no such task or the caller may not see it
-- locks: none
SELECT t.id, t.job_id, t.name, t.task_type, t.executor, t.sequence, t.status, t.attempts, t.max_attempts, t.error,
       t.worker_id, t.claimed_at, t.finished_at, CASE WHEN t.delayed THEN t.run_at END AS run_at,
       t.waiting_on, l.progress, l.message,
       ARRAY(SELECT n.name FROM public.task_edges e JOIN public.job_tasks n ON n.id = e.needs
              WHERE e.task_id = t.id ORDER BY n.sequence) AS needs
  FROM public.job_tasks t
  LEFT JOIN public.task_leases l ON l.task_id = t.id AND l.claim_token = t.claim_token
 WHERE t.id = $1
