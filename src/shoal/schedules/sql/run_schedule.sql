-- run_schedule: fire a schedule for moments somebody asks for; null for now
-- params: schedule_id uuid, fire_ts timestamptz[], kind text
-- returns: how many runs are new
-- locks: the schedule
SELECT public.run_schedule($1, coalesce($2, ARRAY[clock_timestamp()]), $3)
