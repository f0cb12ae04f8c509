-- list_dead_letters: a page of the caller's tasks that failed for good, latest first
-- params: job_type text, task_type text, reason text, before_at timestamptz, before_id uuid, page_size int
-- returns: rows of dead_letters; null filters do not filter; before_at and before_id are those of the last
--   row of the page before
-- locks: none
SELECT d.task_id, d.job_id, d.job_type, d.job_status, d.task_name, d.task_type, d.reason, d.attempts,
       d.max_attempts, d.error, d.failed_at
  FROM public.dead_letters d
 WHERE ($1::text IS NULL OR d.job_type = $1)
   AND ($2::text IS NULL OR d.task_type = $2)
   AND ($3::text IS NULL OR d.reason = $3)
   AND ($4::timestamptz IS NULL OR (d.failed_at, d.task_id) < ($4, $5::uuid))
 ORDER BY d.failed_at DESC, d.task_id DESC
 LIMIT $6
