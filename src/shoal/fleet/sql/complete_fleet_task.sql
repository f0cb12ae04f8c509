-- complete_fleet_task: record the output of a task the fleet holds under this token, and release what waited for it
-- params: task_id uuid, claim_token uuid, output jsonb
-- returns: already_completed, lease_lost, or none when this call completed it
-- locks: the task and what waits for it by id, then the job
SELECT verdict FROM shoal.complete_tasks('fleet', ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::jsonb])
