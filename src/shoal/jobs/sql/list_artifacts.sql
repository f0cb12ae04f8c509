-- list_artifacts: a page of what the finished tasks of a job made, in the order of the tasks
-- params: job_id uuid, after_sequence bigint, after_at timestamptz, after_id uuid, page_size int
-- returns: rows of job_artifacts; only those of the attempt that completed each task
-- locks: none
SELECT a.id, a.task_id, a.name, a.artifact_type, a.storage_path, a.content_type, a.file_size_bytes,
       a.sha256, a.duration_seconds, a.fallback_for, a.created_at, t.sequence
  FROM public.job_artifacts a
  JOIN public.job_tasks t ON t.id = a.task_id AND t.status = 'complete' AND t.claim_token = a.claim_token
 WHERE a.job_id = $1 AND (t.sequence, a.created_at, a.id) > ($2::bigint, $3, $4)
 ORDER BY t.sequence, a.created_at, a.id
 LIMIT $5
