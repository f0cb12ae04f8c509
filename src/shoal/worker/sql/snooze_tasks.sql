-- snooze_tasks: put held tasks off without burning an attempt
-- params: worker_id text, task_ids uuid[], claim_tokens uuid[], after_s real[]
-- returns: (task_id, verdict): snoozed or lease_lost
-- locks: the tasks by id, then the jobs by id
SELECT task_id, verdict FROM shoal.snooze_tasks($1, $2, $3, $4)
