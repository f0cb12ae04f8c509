-- list_jobs: a page of the caller's jobs, newest first
-- params: status text, type text, unique_key text, created_from timestamptz, created_before timestamptz,
--   before_at timestamptz, before_id uuid, page_size int
-- returns: rows (id, type, status, progress, error, priority, unique_key, created_at, started_at,
--   finished_at); null filters do not filter; before_at and before_id are those of the last row of the
--   page before
-- locks: none
SELECT j.id, j.type, j.status, j.progress, j.error, j.priority, j.unique_key, j.created_at, j.started_at,
       j.finished_at
  FROM public.jobs j
 WHERE ($1::text IS NULL OR j.status = $1)
   AND ($2::text IS NULL OR j.type = $2)
   AND ($3::text IS NULL OR j.unique_key = $3)
   AND ($4::timestamptz IS NULL OR j.created_at >= $4)
   AND ($5::timestamptz IS NULL OR j.created_at < $5)
   AND ($6::timestamptz IS NULL OR (j.created_at, j.id) < ($6, $7::uuid))
 ORDER BY j.created_at DESC, j.id DESC
 LIMIT $8
