-- release_cursors: end a turn early
-- params: sink text, holder uuid
-- returns: nothing
-- locks: the cursors
SELECT shoal.release_cursors($1, $2)
