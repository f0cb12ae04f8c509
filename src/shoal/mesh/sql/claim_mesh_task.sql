-- claim_mesh_task: take the next ready task for the mesh, if none is held
-- params: none
-- returns: the id of the task, or none
-- locks: the task it takes, skipping one that another claim holds; then its job
SELECT task_id FROM shoal.claim_mesh_task() AS task_id
