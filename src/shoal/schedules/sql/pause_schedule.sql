-- pause_schedule: fire a schedule no more until it is resumed
-- params: schedule_id uuid, reason text
-- returns: nothing
-- locks: the schedule
SELECT public.pause_schedule($1, $2)
