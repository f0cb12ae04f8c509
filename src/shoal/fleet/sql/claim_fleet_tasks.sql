-- claim_fleet_tasks: take ready tasks for the fleet, best first
-- params: max_tasks int
-- returns: rows (task_id)
-- locks: the tasks it takes, skipping those another claim holds; then their jobs by id
SELECT task_id FROM shoal.claim_fleet_tasks($1) AS task_id
