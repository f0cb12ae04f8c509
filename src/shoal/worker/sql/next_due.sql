-- next_due: in how many seconds there may be a task of these types to claim
-- params: task_types text[]
-- returns: seconds, or null when nothing is in sight
-- locks: none
SELECT shoal.next_due_s($1)
