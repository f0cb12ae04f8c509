-- heartbeat_tasks: prolong the leases this worker holds and record the progress of each task
-- params: worker_id text, task_ids uuid[], claim_tokens uuid[], progress real[], messages text[]
-- returns: the ids still held; what is missing is lost
-- locks: the rows in task_leases
SELECT held FROM shoal.heartbeat_tasks($1, $2, $3, $4, $5) AS held
