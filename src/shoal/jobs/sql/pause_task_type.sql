-- pause_task_type: start no more tasks of a type; what runs goes on
-- params: task_type text, reason text
-- returns: nothing
-- locks: the limit
SELECT public.pause_task_type($1, $2)
