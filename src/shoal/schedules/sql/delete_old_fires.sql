-- delete_old_fires: forget runs, a batch
-- params: older_than interval, at_most int
-- returns: how many were forgotten
-- locks: those runs
SELECT shoal.delete_old_fires($1, $2)
