-- retry_task: try one ended task again, and what did not run because of it
-- params: task_id uuid
-- returns: how many tasks that is
-- locks: the tasks by id, then the job
SELECT public.retry_task($1)
