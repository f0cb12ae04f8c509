-- advance_cursors: end turns whose events were told up to these positions
-- params: sink text, holder uuid, partitions smallint[], positions bigint[]
-- returns: the partitions whose cursors moved; a missing one is held by somebody else
-- locks: the cursors
SELECT * FROM shoal.advance_cursors($1, $2, $3, $4, true) AS partition
