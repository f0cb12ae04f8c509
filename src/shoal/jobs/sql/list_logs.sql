-- list_logs: a page of the lines the tasks of a job wrote, oldest first
-- params: job_id uuid, after_id bigint, page_size int
-- returns: rows (id, task_id, at, level, line)
-- locks: none
SELECT g.id, g.task_id, g.at, g.level, g.line
  FROM public.task_logs g
 WHERE g.job_id = $1 AND g.id > $2
 ORDER BY g.id
 LIMIT $3
