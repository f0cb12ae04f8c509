-- register_job_type: announce a job type this worker's app can plan and run
-- params: type text, version text, params_schema jsonb, phases jsonb
-- returns: nothing
-- locks: the row of the type, when it changes
SELECT shoal.register_job_type($1, $2, $3, $4)
