-- take_events: take partitions of a sink for a turn, and read what is to be told of each
-- params: sink text, holder uuid, lease_s real, partitions int, at_most int
-- returns: a row for each event, by partition and position; one without an event for a partition without any
-- locks: the cursors it takes, skipping those somebody else takes
SELECT * FROM shoal.take_events($1, $2, $3, $4, $5)
