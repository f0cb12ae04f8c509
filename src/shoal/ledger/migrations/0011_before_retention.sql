-- What is kept and what is cleaned: jobs that ended long ago go, their files follow them, what users keep in
-- the vault has a limit, and what failed for good is one list.
--
-- A job is deleted whole, with its tasks, lines and artifacts, and only when it has ended. A deletion passes
-- over a job of which somebody holds anything; the only ones who may have to wait, until its small batch is
-- through, are those who try such a job again or add files of the same user. Its rows go first, then its
-- files: what can be seen in the ledger is there in the vault.

-- Ended jobs by their end, for deleting the old ones of one status without looking at the others.
CREATE INDEX jobs_ended ON public.jobs (status, finished_at) WHERE finished_at IS NOT NULL;

-- Lines go with their job. A foreign key on tasks would look through all lines for each deleted task.
ALTER TABLE public.task_logs DROP CONSTRAINT task_logs_task_id_fkey;

-- Blocks of a BRIN index keep the lowest value they ever had, so after deletions it points everywhere.
DROP INDEX public.task_logs_by_age;
CREATE INDEX task_logs_by_age ON public.task_logs (at);
DROP INDEX public.idempotency_keys_by_age;
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys (created_at);

-- Jobs that are no more. What lies in the vault below user_id/job_id is nobody's since then. Kept until the
-- vault has been looked through a while after the deletion: an upload may still have been under way.
--   empty_at  when to empty the folder; null when that was done, or the job had no artifact
CREATE TABLE shoal.deleted_jobs (
  job_id      uuid PRIMARY KEY,
  user_id     uuid NOT NULL,
  deleted_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  empty_at    timestamptz DEFAULT clock_timestamp()
);
CREATE INDEX deleted_jobs_to_empty ON shoal.deleted_jobs (empty_at) WHERE empty_at IS NOT NULL;
CREATE INDEX deleted_jobs_by_age ON shoal.deleted_jobs (deleted_at);

-- Whoever deletes a job, and however: its files are found again.
CREATE FUNCTION shoal.remember_deleted_jobs() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO shoal.deleted_jobs (job_id, user_id) SELECT r.id, r.user_id FROM removed r ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
CREATE TRIGGER remember_deleted_jobs AFTER DELETE ON public.jobs
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION shoal.remember_deleted_jobs();

-- delete_jobs: of the given jobs, those that have ended and of which nobody holds anything.
-- Locks: their tasks by id, then the jobs by id, then what users keep.
CREATE FUNCTION shoal.delete_jobs(p_job_ids uuid[], OUT jobs int, OUT artifacts int, OUT bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_free uuid[];
  v_jobs uuid[];
BEGIN
  WITH held AS MATERIALIZED (
    SELECT t.job_id FROM public.job_tasks t WHERE t.job_id = ANY (p_job_ids) ORDER BY t.id FOR UPDATE SKIP LOCKED
  )
  SELECT array_agg(g.id) INTO v_free
    FROM unnest(p_job_ids) AS g(id)
    LEFT JOIN (SELECT job_id, count(*) AS n FROM held GROUP BY job_id) h ON h.job_id = g.id
   WHERE (SELECT count(*) FROM public.job_tasks t WHERE t.job_id = g.id) = coalesce(h.n, 0);
  -- Looked at again: one may have been tried again before its tasks were ours.
  v_jobs := ARRAY(SELECT j.id FROM public.jobs j
                   WHERE j.id = ANY (v_free) AND j.finished_at IS NOT NULL AND j.tasks_open = 0
                   ORDER BY j.id FOR UPDATE SKIP LOCKED);
  INSERT INTO shoal.deleted_jobs (job_id, user_id, empty_at)
  SELECT j.id, j.user_id, CASE WHEN EXISTS (SELECT FROM public.job_artifacts a WHERE a.job_id = j.id)
                               THEN clock_timestamp() END
    FROM public.jobs j WHERE j.id = ANY (v_jobs);
  WITH removed AS (
    DELETE FROM public.job_artifacts a WHERE a.job_id = ANY (v_jobs) RETURNING a.file_size_bytes AS size
  )
  SELECT count(*), coalesce(sum(size), 0) INTO artifacts, bytes FROM removed;
  DELETE FROM public.task_logs g WHERE g.job_id = ANY (v_jobs);
  DELETE FROM public.task_edges e USING public.job_tasks t WHERE t.job_id = ANY (v_jobs) AND e.task_id = t.id;
  DELETE FROM public.job_tasks t WHERE t.job_id = ANY (v_jobs);
  DELETE FROM public.jobs j WHERE j.id = ANY (v_jobs);
  jobs := cardinality(v_jobs);
END
$$;

-- The first of these jobs that have at most so many tasks together; at least one.
CREATE FUNCTION shoal.first_jobs(p_job_ids uuid[], p_tasks int[], p_at_most int) RETURNS uuid[]
LANGUAGE sql IMMUTABLE SET search_path = '' AS $$
  SELECT array_agg(s.id) FROM (
    SELECT g.id, g.position, sum(g.tasks + 1) OVER (ORDER BY g.position) AS reached
      FROM unnest(p_job_ids, p_tasks) WITH ORDINALITY AS g(id, tasks, position)) s
   WHERE s.reached <= p_at_most OR s.position = 1
$$;

-- delete_old_jobs: a batch of the jobs that ended longer ago than they are kept; those that failed have a
-- time of their own. Null keeps for ever. Any number of processes may call it; one works at a time, the
-- others find nothing.
CREATE FUNCTION shoal.delete_old_jobs(
  p_keep_ended interval, p_keep_failed interval, OUT jobs int, OUT artifacts int, OUT bytes bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_most  int := 2000;
  v_old   uuid[];
BEGIN
  SELECT 0, 0, 0 INTO jobs, artifacts, bytes;
  IF NOT pg_try_advisory_xact_lock(hashtextextended('shoal.delete_old_jobs', 0)) THEN
    RETURN;
  END IF;
  SELECT shoal.first_jobs(array_agg(o.id), array_agg(o.tasks_total), v_most) INTO v_old
    FROM (VALUES ('complete', clock_timestamp() - p_keep_ended), ('cancelled', clock_timestamp() - p_keep_ended),
                 ('failed', clock_timestamp() - p_keep_failed)) AS k(status, until)
   CROSS JOIN LATERAL (
      SELECT j.id, j.tasks_total FROM public.jobs j
       WHERE j.status = k.status AND j.finished_at < k.until ORDER BY j.finished_at LIMIT v_most) o;
  IF v_old IS NOT NULL THEN
    SELECT d.* INTO jobs, artifacts, bytes FROM shoal.delete_jobs(v_old) d;
  END IF;
END
$$;

-- delete_old_lines: a batch of the lines that are older than they are kept. Those of jobs that have not
-- ended stay. Returns how many.
CREATE FUNCTION shoal.delete_old_lines(p_keep interval) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_until   timestamptz := clock_timestamp() - p_keep;
  v_deleted int;
BEGIN
  DELETE FROM public.task_logs d WHERE d.id IN (
    SELECT g.id FROM public.task_logs g JOIN public.jobs j ON j.id = g.job_id AND j.finished_at IS NOT NULL
     WHERE g.at < v_until ORDER BY g.at LIMIT 5000 FOR UPDATE OF g SKIP LOCKED);
  GET DIAGNOSTICS v_deleted = ROW_COUNT;
  RETURN v_deleted;
END
$$;

-- delete_old_keys: a batch of the idempotency keys that are older than a day. Returns how many.
CREATE FUNCTION shoal.delete_old_keys() RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_until   timestamptz := clock_timestamp() - interval '1 day';
  v_deleted int;
BEGIN
  DELETE FROM public.idempotency_keys d WHERE (d.user_id, d.key) IN (
    SELECT k.user_id, k.key FROM public.idempotency_keys k
     WHERE k.created_at < v_until ORDER BY k.created_at LIMIT 5000 FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_deleted = ROW_COUNT;
  RETURN v_deleted;
END
$$;

-- Ended jobs by filters of which null does not filter. Without a pinned search_path, so that the planner can
-- put the body where it is called.
CREATE FUNCTION shoal.ended_jobs(
  p_user_id uuid, p_statuses text[], p_type text, p_finished_before timestamptz
) RETURNS SETOF public.jobs LANGUAGE sql STABLE AS $$
  SELECT j.* FROM public.jobs j
   WHERE j.finished_at IS NOT NULL
     AND (p_user_id IS NULL OR j.user_id = p_user_id) AND (p_statuses IS NULL OR j.status = ANY (p_statuses))
     AND (p_type IS NULL OR j.type = p_type) AND (p_finished_before IS NULL OR j.finished_at < p_finished_before)
$$;

-- purge_jobs: delete jobs that have ended now, a batch at a time; call it again while there are more. A user
-- deletes their own, the service everybody's. Null filters do not filter. With p_dry_run nothing is deleted,
-- and all that would be is counted.
CREATE FUNCTION public.purge_jobs(
  p_statuses text[] DEFAULT NULL, p_type text DEFAULT NULL, p_finished_before timestamptz DEFAULT NULL,
  p_user_id uuid DEFAULT NULL, p_dry_run boolean DEFAULT false,
  OUT jobs int, OUT artifacts int, OUT bytes bigint, OUT more boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_most  int := 2000;
  v_user  uuid := CASE WHEN shoal.is_service() THEN p_user_id ELSE auth.uid() END;
  v_found uuid[];
  v_batch uuid[];
BEGIN
  IF NOT shoal.is_service() AND (v_user IS NULL OR p_user_id <> v_user) THEN
    PERFORM shoal.refuse('SH403', 'job_owner_foreign', 'A user deletes only their own jobs.');
  ELSIF NOT coalesce(p_statuses, '{}') <@ ARRAY['complete', 'failed', 'cancelled'] THEN
    PERFORM shoal.refuse('SH400', 'status_not_ended', 'Only jobs that have ended can be deleted.',
      'Choose among complete, failed and cancelled; cancel what has not ended.');
  END IF;
  IF p_dry_run THEN
    SELECT count(*), coalesce(sum(made.n), 0), coalesce(sum(made.size), 0), false INTO jobs, artifacts, bytes, more
      FROM shoal.ended_jobs(v_user, p_statuses, p_type, p_finished_before) e
     CROSS JOIN LATERAL (SELECT count(*) AS n, sum(a.file_size_bytes) AS size
                           FROM public.job_artifacts a WHERE a.job_id = e.id) made;
    RETURN;
  END IF;
  SELECT array_agg(f.id), shoal.first_jobs(array_agg(f.id), array_agg(f.tasks_total), v_most) INTO v_found, v_batch
    FROM (SELECT e.id, e.tasks_total FROM shoal.ended_jobs(v_user, p_statuses, p_type, p_finished_before) e
           LIMIT v_most) f;
  SELECT d.* INTO jobs, artifacts, bytes FROM shoal.delete_jobs(coalesce(v_batch, '{}')) d;
  more := jobs > 0 AND (cardinality(v_found) > cardinality(v_batch) OR cardinality(v_found) = v_most);
END
$$;

-- Artifacts by their object, to see whether one is still named. A hash, for the paths are long.
CREATE INDEX job_artifacts_by_path ON public.job_artifacts USING hash (storage_path);

-- disown_objects: forget the artifacts of attempts that will never count, among these paths. Returns those
-- of the paths that no artifact names (any more).
CREATE FUNCTION shoal.disown_objects(p_paths text[]) RETURNS SETOF text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM public.job_artifacts a USING unnest(p_paths) AS g(path), public.job_tasks t
   WHERE a.storage_path = g.path AND t.id = a.task_id
     AND (t.status NOT IN ('claimed', 'complete') OR t.claim_token IS DISTINCT FROM a.claim_token);
  RETURN QUERY
    SELECT g.path FROM unnest(p_paths) AS g(path)
     WHERE NOT EXISTS (SELECT FROM public.job_artifacts a WHERE a.storage_path = g.path);
END
$$;

-- When a chore that only one process at a time needs to do is due again.
CREATE TABLE shoal.chores (
  name    text PRIMARY KEY,
  due_at  timestamptz NOT NULL
);

-- Whose it is: what users keep is counted, and when an artifact goes its job may have gone before.
ALTER TABLE public.job_artifacts ADD COLUMN user_id uuid;
UPDATE public.job_artifacts a SET user_id = j.user_id FROM public.jobs j WHERE j.id = a.job_id;
ALTER TABLE public.job_artifacts ALTER COLUMN user_id SET NOT NULL;

CREATE OR REPLACE FUNCTION shoal.adopt_artifact() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  NEW.public_url := NULL;
  SELECT t.job_id, j.user_id, coalesce(NEW.claim_token, t.claim_token)
    INTO NEW.job_id, NEW.user_id, NEW.claim_token
    FROM public.job_tasks t JOIN public.jobs j ON j.id = t.job_id
   WHERE t.id = NEW.task_id AND t.status = 'claimed';
  IF NOT FOUND THEN
    PERFORM shoal.refuse('SH409', 'task_not_claimed', 'The task of this artifact is not claimed.',
      'Add artifacts while the task is held, before completing it.');
  END IF;
  RETURN NEW;
END
$$;

-- How much each user keeps in the vault, of attempts that count and of those that do not, until these are
-- swept away; and how much they may, where it is not what everybody may.
CREATE TABLE public.vault_usage (
  user_id    uuid PRIMARY KEY,
  bytes      bigint NOT NULL DEFAULT 0,
  max_bytes  bigint CHECK (max_bytes >= 0)
);
INSERT INTO public.vault_usage (user_id, bytes)
SELECT user_id, sum(file_size_bytes) FROM public.job_artifacts GROUP BY user_id;

-- How much all users together and each of them may keep; null for any amount. One row at most, which the
-- sentinel writes from its settings. Only where all together have a limit, adding takes the lock of it.
CREATE TABLE shoal.vault_quota (
  is_only             boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  max_bytes           bigint CHECK (max_bytes >= 0),
  max_bytes_per_user  bigint CHECK (max_bytes_per_user >= 0)
);

-- Add to what users keep, or take from it; refuses what is over a quota. Locks: the quota, then what the
-- users keep by user.
CREATE FUNCTION shoal.count_kept_bytes(p_user_ids uuid[], p_bytes bigint[]) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_grown uuid[] := ARRAY(SELECT c.id FROM unnest(p_user_ids, p_bytes) AS c(id, bytes) WHERE c.bytes > 0);
  v_quota shoal.vault_quota;
  v_full  public.vault_usage;
BEGIN
  SELECT q.* INTO v_quota FROM shoal.vault_quota q;
  IF v_quota.max_bytes IS NOT NULL AND cardinality(v_grown) > 0 THEN
    PERFORM FROM shoal.vault_quota q FOR NO KEY UPDATE;
  END IF;
  INSERT INTO public.vault_usage AS u (user_id, bytes)
  SELECT c.id, c.bytes FROM unnest(p_user_ids, p_bytes) AS c(id, bytes) WHERE c.bytes <> 0 ORDER BY c.id
  ON CONFLICT (user_id) DO UPDATE SET bytes = u.bytes + excluded.bytes;
  SELECT u.* INTO v_full FROM public.vault_usage u
   WHERE u.user_id = ANY (v_grown) AND u.bytes > coalesce(u.max_bytes, v_quota.max_bytes_per_user) LIMIT 1;
  IF FOUND THEN
    PERFORM shoal.refuse('SH413', 'quota_exceeded',
      format('The files of this user would take %s bytes; they may take %s.', v_full.bytes,
        coalesce(v_full.max_bytes, v_quota.max_bytes_per_user)),
      'Delete jobs that are not needed any more (shoal job purge), or have the quota raised.');
  ELSIF cardinality(v_grown) > 0 AND (SELECT sum(u.bytes) FROM public.vault_usage u) > v_quota.max_bytes THEN
    PERFORM shoal.refuse('SH413', 'quota_exceeded',
      format('The files of all users would take more than the %s bytes they may.', v_quota.max_bytes),
      'Delete jobs that are not needed any more (shoal job purge), or raise vault_max_bytes.');
  END IF;
END
$$;

CREATE FUNCTION shoal.count_artifact_changes() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM shoal.count_kept_bytes(array_agg(c.user_id), array_agg(c.bytes::bigint))
       FROM (SELECT r.user_id, -sum(r.file_size_bytes) AS bytes FROM removed r GROUP BY r.user_id) c;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM shoal.count_kept_bytes(array_agg(c.user_id), array_agg(c.bytes::bigint))
       FROM (SELECT a.user_id, sum(a.file_size_bytes) AS bytes FROM added a GROUP BY a.user_id) c;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER count_added_bytes AFTER INSERT ON public.job_artifacts
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_artifact_changes();
CREATE TRIGGER count_removed_bytes AFTER DELETE ON public.job_artifacts
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_artifact_changes();
CREATE TRIGGER count_changed_bytes AFTER UPDATE ON public.job_artifacts
  REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_artifact_changes();

-- limit_vault: how much one user may keep; null for what everybody may.
CREATE FUNCTION public.limit_vault(p_user_id uuid, p_max_bytes bigint DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  INSERT INTO public.vault_usage (user_id, max_bytes) VALUES (p_user_id, p_max_bytes)
  ON CONFLICT (user_id) DO UPDATE SET max_bytes = excluded.max_bytes
$$;

-- Tasks that failed for good by their own doing. Those that failed because another did are tried again with
-- that one, and are not listed.
--   reason  attempts_used_up | permanent
CREATE INDEX job_tasks_failed ON public.job_tasks (finished_at, id) WHERE status = 'failed' AND attempts > 0;
CREATE INDEX jobs_with_failures ON public.jobs (user_id) WHERE tasks_failed > 0;
CREATE VIEW public.dead_letters WITH (security_invoker = true) AS
  SELECT t.id AS task_id, t.job_id, j.user_id, j.type AS job_type, j.status AS job_status, t.name AS task_name,
         t.task_type, CASE WHEN t.attempts >= t.max_attempts THEN 'attempts_used_up' ELSE 'permanent' END AS reason,
         t.attempts, t.max_attempts, t.error, t.finished_at AS failed_at
    FROM public.job_tasks t JOIN public.jobs j ON j.id = t.job_id
   WHERE t.status = 'failed' AND t.attempts > 0 AND j.tasks_failed > 0;

ALTER TABLE shoal.deleted_jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE shoal.chores ENABLE ROW LEVEL SECURITY;
ALTER TABLE shoal.vault_quota ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.vault_usage ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON shoal.deleted_jobs, shoal.chores, shoal.vault_quota, public.vault_usage, public.dead_letters
  FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
REVOKE ALL ON FUNCTION
  shoal.remember_deleted_jobs, shoal.delete_jobs, shoal.first_jobs, shoal.delete_old_jobs, shoal.delete_old_lines,
  shoal.delete_old_keys, shoal.ended_jobs, shoal.disown_objects, shoal.count_kept_bytes,
  shoal.count_artifact_changes,
  public.purge_jobs, public.limit_vault
  FROM PUBLIC, anon, authenticated;
GRANT SELECT, UPDATE, DELETE ON shoal.deleted_jobs TO service_role;
GRANT SELECT, INSERT, UPDATE ON shoal.chores TO service_role;
CREATE POLICY service_does_everything ON shoal.deleted_jobs TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON shoal.chores TO service_role USING (true) WITH CHECK (true);
GRANT EXECUTE ON FUNCTION
  shoal.delete_old_jobs, shoal.delete_old_lines, shoal.delete_old_keys, shoal.disown_objects TO service_role;
GRANT EXECUTE ON FUNCTION public.limit_vault TO service_role;
GRANT SELECT ON public.vault_usage, public.dead_letters TO authenticated, service_role;
GRANT SELECT, INSERT, UPDATE ON shoal.vault_quota TO service_role;
CREATE POLICY service_does_everything ON shoal.vault_quota TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_sees_everything ON public.vault_usage FOR SELECT TO service_role USING (true);
CREATE POLICY users_read_what_they_keep ON public.vault_usage FOR SELECT TO authenticated
  USING (user_id = (SELECT auth.uid()));
GRANT EXECUTE ON FUNCTION public.purge_jobs TO authenticated, service_role;
