-- find_work: the sinks that have something to tell and nobody who is at it
-- params: none
-- returns: rows (sink)
-- locks: none
SELECT sink FROM shoal.find_event_work() AS sink
