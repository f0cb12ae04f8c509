-- skip_unwanted_events: move the cursors on which nothing waits that their sinks asked for
-- params: none
-- returns: how many cursors
-- locks: those cursors, skipping those somebody else is at
SELECT shoal.skip_unwanted_events()
