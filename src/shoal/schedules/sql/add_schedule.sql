-- add_schedule: add a schedule, or make one of the same name into this
-- params: schedule jsonb, host_id uuid, on_conflict text
-- returns: its id
-- locks: the schedule it replaces
SELECT public.add_schedule($1, $2, $3)
