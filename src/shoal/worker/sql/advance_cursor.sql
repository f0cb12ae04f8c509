-- advance_cursor: an event was handled; in the transaction of its effect, if it has one
-- params: sink text, holder uuid, partition smallint, position bigint, done boolean, lease_s real
-- returns: the partition; nothing when somebody else holds it
-- locks: the cursor
SELECT * FROM shoal.advance_cursors($1, $2, ARRAY[$3::smallint], ARRAY[$4::bigint], $5, $6) AS partition
