-- fail_fleet_task: the task cannot be computed
-- params: task_id uuid, claim_token uuid, error text, permanent boolean
-- returns: failed, retrying or lease_lost
-- locks: the task and all its descendants by id, then the job
SELECT verdict FROM shoal.fail_tasks(
  'fleet', ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::text], ARRAY[$4::boolean], ARRAY[NULL::real])
