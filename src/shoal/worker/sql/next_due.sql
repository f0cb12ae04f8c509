-- next_due: in how many seconds the next delayed task is due
-- params: none
-- returns: seconds, or null when no task is delayed
-- locks: none
SELECT shoal.next_due_s()
