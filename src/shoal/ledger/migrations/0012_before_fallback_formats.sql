-- The same thing in two formats: a primary one and, for players that cannot open it, a fallback.

ALTER TABLE public.job_artifacts
  ADD COLUMN fallback_for text CHECK (length(fallback_for) BETWEEN 1 AND 255);
COMMENT ON COLUMN public.job_artifacts.fallback_for IS
  'The name of the artifact of the same task that this one is a second format of; null for a primary one.';

-- add_artifacts: what a worker's task made, for the attempt it holds. Returns false when the lease
-- was lost; repeating the call adds nothing.
CREATE OR REPLACE FUNCTION shoal.add_artifacts(p_worker_id text, p_task_id uuid, p_claim_token uuid, p_artifacts jsonb)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM FROM public.job_tasks t
    WHERE t.id = p_task_id AND t.status = 'claimed' AND t.claim_token = p_claim_token
      AND t.worker_id = p_worker_id FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO public.job_artifacts (job_id, task_id, claim_token, name, artifact_type, storage_path,
    content_type, file_size_bytes, duration_seconds, sha256, fallback_for)
  SELECT NULL, p_task_id, p_claim_token, a.name, a.artifact_type, a.storage_path, a.content_type,
         a.file_size_bytes, a.duration_seconds, a.sha256, a.fallback_for
    FROM jsonb_to_recordset(p_artifacts) AS a(name text, artifact_type text, storage_path text,
      content_type text, file_size_bytes bigint, duration_seconds float, sha256 text, fallback_for text)
  ON CONFLICT (task_id, claim_token, storage_path) DO NOTHING;
  RETURN true;
END
$$;
