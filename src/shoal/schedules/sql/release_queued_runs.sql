-- release_queued_runs: start the jobs of runs that waited for the job before
-- params: at_most int
-- returns: how many were started
-- locks: schedules by id that nobody holds, and their runs
SELECT shoal.release_queued_runs($1)
