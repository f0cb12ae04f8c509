-- resume_task_type: start tasks of a type again
-- params: task_type text
-- returns: nothing
-- locks: the limit
SELECT public.resume_task_type($1)
