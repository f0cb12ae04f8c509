-- delete_old_events: a batch of the events that are older than they are kept
-- params: keep interval
-- returns: one row (deleted, untold): untold are messages that a sink was never told
-- locks: the rows
SELECT deleted, untold FROM shoal.delete_old_events($1)
