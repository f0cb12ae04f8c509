-- release_cursors: end turns early; nothing of them is told
-- params: sink text, holder uuid
-- returns: nothing
-- locks: the cursors
SELECT shoal.release_cursors($1, $2)
