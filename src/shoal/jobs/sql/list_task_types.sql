-- list_task_types: what is ready and what runs of each type of task, and what holds it back
-- params: task_type text
-- returns: rows (type, ready, running, paused_because, max_running, rate_per_s, burst) of the types that
--   have any of it, by name; of one type only, if it is not null
-- locks: none
SELECT coalesce(q.task_type, l.task_type) AS type, coalesce(q.ready, 0) AS ready,
       coalesce(q.running, 0) AS running, l.paused_because, l.max_running, l.rate_per_s,
       CASE WHEN l.rate_per_s IS NOT NULL THEN l.burst END AS burst
  FROM public.task_limits l
  FULL JOIN (
    SELECT o.task_type, sum(o.ready)::int AS ready, sum(o.running)::int AS running
      FROM (
        SELECT t.task_type, count(*) AS ready, 0 AS running FROM public.job_tasks t
         WHERE t.status = 'pending' AND t.waiting_on = 0 AND NOT t.delayed GROUP BY t.task_type
        UNION ALL
        SELECT t.task_type, 0, count(*) FROM public.job_tasks t
         WHERE t.status = 'claimed' GROUP BY t.task_type
      ) o
     GROUP BY o.task_type
  ) q ON q.task_type = l.task_type
 WHERE $1::text IS NULL OR coalesce(q.task_type, l.task_type) = $1
 ORDER BY 1
