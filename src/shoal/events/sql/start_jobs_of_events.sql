-- start_jobs_of_events: a turn of the consumer of job.start, effect and cursor in one
-- params: sink text
-- returns: how many events; null when no partition is free
-- locks: a cursor that is free; then what starting jobs locks
SELECT shoal.start_jobs_of_events($1)
