-- measure_queue: how much is ready and how much runs, by task type, the longest queues first
-- params: at_most_types int
-- returns: (task_type, ready, running, oldest_s): how long the oldest of the next thousand in line has been
--   there, or could have been but for its delay; null when nothing is ready
-- locks: none
-- The two halves are counted in the partial index each of them has, and touch no other task.
SELECT counted.task_type, sum(ready)::bigint AS ready, sum(running)::bigint AS running,
       (SELECT extract(epoch FROM clock_timestamp() - min(since))::double precision FROM (
          SELECT greatest(t.created_at, t.run_at) AS since FROM public.job_tasks t
           WHERE t.task_type = counted.task_type AND t.status = 'pending' AND t.waiting_on = 0 AND NOT t.delayed
           ORDER BY t.order_key, t.id LIMIT 1000) AS next_in_line) AS oldest_s
  FROM (
    SELECT t.task_type, count(*) AS ready, 0 AS running FROM public.job_tasks t
     WHERE t.status = 'pending' AND t.waiting_on = 0 AND NOT t.delayed GROUP BY t.task_type
     UNION ALL
    SELECT t.task_type, 0, count(*) FROM public.job_tasks t WHERE t.status = 'claimed' GROUP BY t.task_type
  ) AS counted
 GROUP BY counted.task_type
 ORDER BY ready DESC, running DESC
 LIMIT $1
