-- note_mesh_progress: how far the push is
-- params: task_id uuid, claim_token uuid, progress real, message text
-- returns: the id of the task while it is held, else none
-- locks: a share of the task, then its lease
SELECT id FROM shoal.heartbeat_tasks('mesh', ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::real], ARRAY[$4::text]) AS id
