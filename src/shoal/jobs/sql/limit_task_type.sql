-- limit_task_type: hold back a type of task to so many at a time and so many starts a second
-- params: task_type text, max_running int, rate_per_s float8, burst int
-- returns: nothing; nulls do not limit
-- locks: the limit
SELECT public.limit_task_type($1, $2, $3, $4)
