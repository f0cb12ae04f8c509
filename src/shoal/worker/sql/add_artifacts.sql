-- add_artifacts: record what a held task made; hidden until the task completes under this claim
-- params: worker_id text, task_id uuid, claim_token uuid, artifacts jsonb
-- returns: false when the lease was lost
-- locks: a share of the task row
SELECT shoal.add_artifacts($1, $2, $3, $4)
