-- cancel_task: end one task that has not ended; what needs it follows its own rule for failures
-- params: task_id uuid, reason text
-- returns: the status the task then has
-- locks: the task and all its descendants by id, then the job
SELECT public.cancel_task($1, $2)
