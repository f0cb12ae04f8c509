-- park_schedule: put aside a schedule that cannot be fired
-- params: schedule_id uuid, version bigint, error text
-- returns: whether it was parked; not, when it is not as it was read
-- locks: the schedule
SELECT shoal.park_schedule($1, $2, $3)
