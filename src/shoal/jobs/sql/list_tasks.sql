-- list_tasks: a page of the tasks of a job in their order, with what they need and how far they are
-- params: job_id uuid, after_sequence bigint, after_id uuid, page_size int
-- returns: rows of job_tasks with the names of what each needs and the progress of its lease
-- locks: none
SELECT t.id, t.job_id, t.name, t.task_type, t.executor, t.sequence, t.status, t.attempts, t.max_attempts, t.error,
       t.worker_id, t.claimed_at, t.finished_at, CASE WHEN t.delayed THEN t.run_at END AS run_at,
       t.waiting_on, l.progress, l.message,
       ARRAY(SELECT n.name FROM public.task_edges e JOIN public.job_tasks n ON n.id = e.needs
              WHERE e.task_id = t.id ORDER BY n.sequence) AS needs
  FROM public.job_tasks t
  LEFT JOIN public.task_leases l ON l.task_id = t.id AND l.claim_token = t.claim_token
 WHERE t.job_id = $1 AND (t.sequence, t.id) > ($2::bigint, $3)
 ORDER BY t.sequence, t.id
 LIMIT $4
