-- resume_schedule: fire a schedule again, from now on
-- params: schedule_id uuid
-- returns: nothing
-- locks: the schedule
SELECT public.resume_schedule($1)
