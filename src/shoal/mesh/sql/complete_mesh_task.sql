-- complete_mesh_task: record what came of the push, and release what waited for it
-- params: task_id uuid, claim_token uuid, output jsonb
-- returns: already_completed, lease_lost, or none when this call completed it
-- locks: the task and what waits for it by id, then the job
SELECT verdict FROM shoal.complete_tasks('mesh', ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::jsonb])
