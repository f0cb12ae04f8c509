-- fail_mesh_task: the push cannot be done
-- params: task_id uuid, claim_token uuid, error text
-- returns: failed, retrying or lease_lost
-- locks: the task and all its descendants by id, then the job
SELECT verdict FROM shoal.fail_tasks(
  'mesh', ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::text], ARRAY[true], ARRAY[NULL::real])
