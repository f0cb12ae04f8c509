-- read_depth: how many tasks of these types workers could be busy with, or are, counted no further than enough
-- params: task_types text[], enough int
-- returns: the number; of a paused type what runs, of a limited one no more than may run at a time
-- locks: none
SELECT coalesce(sum(CASE
         WHEN l.paused_because IS NOT NULL THEN running.n
         ELSE least(ready.n + due.n + running.n, l.max_running) END), 0)
  FROM unnest($1::text[]) AS wanted (task_type)
  LEFT JOIN public.task_limits l ON l.task_type = wanted.task_type
 CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
   SELECT FROM public.job_tasks t
    WHERE t.task_type = wanted.task_type AND t.status = 'pending' AND t.waiting_on = 0 AND NOT t.delayed
    LIMIT $2) AS found) AS ready
 CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
   SELECT FROM public.job_tasks t  -- no worker has been there since to make them ready
    WHERE t.task_type = wanted.task_type AND t.status = 'pending' AND t.waiting_on = 0 AND t.delayed
      AND t.run_at <= clock_timestamp()
    LIMIT $2) AS found) AS due
 CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
   SELECT FROM public.job_tasks t
    WHERE t.task_type = wanted.task_type AND t.status = 'claimed'
    LIMIT $2) AS found) AS running
