-- add_fleet_artifact: a file that a task of the fleet made
-- params: task_id uuid, claim_token uuid, artifacts jsonb
-- returns: false when the task is not held under this token any more
-- locks: a share of the task
SELECT shoal.add_artifacts('fleet', $1, $2, $3)
