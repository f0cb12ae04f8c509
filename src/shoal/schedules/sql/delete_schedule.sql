-- delete_schedule: delete a schedule with its runs
-- params: schedule_id uuid
-- returns: nothing
-- locks: the schedule, then its runs
SELECT public.delete_schedule($1)
