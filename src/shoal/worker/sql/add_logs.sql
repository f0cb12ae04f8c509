-- add_logs: keep lines that tasks wrote
-- params: worker_id text, task_ids uuid[], claim_tokens uuid[], at timestamptz[], levels text[], lines text[]
-- returns: nothing; lines of lost tasks are dropped
-- locks: a share of the tasks, by id
SELECT shoal.add_logs($1, $2, $3, $4, $5, $6)
