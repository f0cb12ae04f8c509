-- create_job: start a job of a registered type, with one plan task
-- params: type text, params jsonb, user_id uuid, priority int, unique_key text, on_conflict text,
--   run_at timestamptz, idempotency_key text
-- returns: the id of the job
-- locks: the new job; for a unique key, waits for another transaction that is inserting the same one
SELECT public.create_job($1, $2, $3, $4, $5, $6, $7, $8)
