-- note_fleet_progress: how far tasks of the fleet are
-- params: task_ids uuid[], claim_tokens uuid[], progress real[], messages text[]
-- returns: rows (id) of those still held
-- locks: a share of the tasks by id, then their leases
SELECT id FROM shoal.heartbeat_tasks('fleet', $1, $2, $3, $4) AS id
