-- delete_old_lines: delete a batch of the lines of ended jobs that are older than they are kept
-- params: keep interval
-- returns: how many
-- locks: the lines; passes over those that are held
SELECT shoal.delete_old_lines($1)
