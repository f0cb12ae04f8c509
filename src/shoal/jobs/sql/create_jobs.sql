-- create_jobs: start many jobs of registered types, each with one plan task; all of them or none
-- params: jobs jsonb, user_id uuid, on_conflict text, idempotency_key text
-- returns: the ids of the jobs, in the order given
-- locks: the new jobs; for a unique key, waits for another transaction that is inserting the same one
SELECT public.create_jobs($1, $2, $3, $4)
