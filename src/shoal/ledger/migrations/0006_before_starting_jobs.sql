-- How jobs begin: create_job (by anybody, for a registered type), plan_job (by a worker that has the
-- code of the type), and the artifacts that tasks leave behind.

-- register_job_type: what a worker's app can do, so that others may start jobs of it by name.
CREATE FUNCTION shoal.register_job_type(p_type text, p_version text, p_params_schema jsonb, p_phases jsonb)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  INSERT INTO public.job_types AS t (type, version, params_schema, phases)
  VALUES (p_type, p_version, p_params_schema, p_phases)
  ON CONFLICT (type) DO UPDATE
    SET version = excluded.version, params_schema = excluded.params_schema, phases = excluded.phases,
        registered_at = clock_timestamp()
    WHERE (t.version, t.params_schema, t.phases)
          IS DISTINCT FROM (excluded.version, excluded.params_schema, excluded.phases)
$$;

-- What a client's idempotency key stood for. Nobody reads it but create_job.
CREATE TABLE public.idempotency_keys (
  user_id       uuid NOT NULL,
  key           text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  request_hash  bytea NOT NULL,
  job_id        uuid REFERENCES public.jobs (id) ON DELETE CASCADE,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_of_job ON public.idempotency_keys (job_id);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING brin (created_at);

-- Whether the system itself is calling, and not a user: nobody's claims are set, and the role may become
-- service_role. A user whose token names no subject is not the system.
CREATE FUNCTION shoal.is_service() RETURNS boolean LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT auth.uid() IS NULL
     AND pg_has_role(coalesce(nullif(current_setting('role'), 'none'), session_user), 'service_role', 'MEMBER')
$$;

-- create_job: start a job of a registered type; returns its id. It begins with one plan task, which a
-- worker of the app that registered the type runs. May be called inside the caller's own transaction.
--   p_user_id       for whom; a user can only start jobs for themselves and leaves it out
--   p_unique_key    at most one living job per (user, type, key); p_on_conflict says what a second
--                   one gets: reject (an error), or existing (the id of the living one)
--   p_run_at        not before
--   p_idempotency_key  repeating the call with the same key and the same arguments returns the same job,
--                      also when it has ended; with other arguments it is refused. Kept for a day.
CREATE FUNCTION public.create_job(
  p_type text, p_params jsonb DEFAULT '{}', p_user_id uuid DEFAULT NULL, p_priority int DEFAULT 0,
  p_unique_key text DEFAULT NULL, p_on_conflict text DEFAULT 'reject', p_run_at timestamptz DEFAULT NULL,
  p_idempotency_key text DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_user   uuid := coalesce(p_user_id, auth.uid());
  v_phases jsonb;
  v_job    uuid;
  v_hash   bytea;
BEGIN
  IF v_user IS NULL THEN
    PERFORM shoal.refuse('SH400', 'job_owner_missing', 'The job has no owner.', 'A service names the user (userId, p_user_id).');
  END IF;
  IF NOT shoal.is_service() AND v_user IS DISTINCT FROM auth.uid() THEN
    PERFORM shoal.refuse('SH403', 'job_owner_foreign', 'A user starts jobs only for themselves.');
  END IF;
  IF NOT isfinite(p_run_at) THEN
    PERFORM shoal.refuse('SH400', 'run_at_infinite', 'A job starts at some point in time.');
  END IF;
  IF p_idempotency_key IS NOT NULL THEN
    v_hash := sha256(convert_to(jsonb_build_array(
      p_type, p_params, p_priority, p_unique_key, p_on_conflict, p_run_at)::text, 'UTF8'));
    INSERT INTO public.idempotency_keys (user_id, key, request_hash)
    VALUES (v_user, p_idempotency_key, v_hash) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT k.job_id INTO v_job FROM public.idempotency_keys k
       WHERE k.user_id = v_user AND k.key = p_idempotency_key AND k.request_hash = v_hash;
      IF NOT FOUND THEN
        PERFORM shoal.refuse('SH409', 'idempotency_key_reused',
          'This idempotency key was used for another request.', 'Use a new key for a new request.');
      END IF;
      RETURN v_job;
    END IF;
  END IF;
  SELECT t.phases INTO v_phases FROM public.job_types t WHERE t.type = p_type;
  IF NOT FOUND THEN
    PERFORM shoal.refuse('SH404', 'unknown_job_type', format('There is no job type %L.', p_type),
      'Start a worker whose app declares it; a worker registers its job types when it starts.');
  END IF;
  LOOP
    INSERT INTO public.jobs (user_id, type, params, priority, unique_key,
                             phase_names, phase_ends, phase_total, phase_done)
    SELECT v_user, p_type, p_params, p_priority, p_unique_key,
           array_agg(p.name ORDER BY p.position), array_agg(p.ends ORDER BY p.position),
           array_agg(0), array_agg(0)
      FROM (
        SELECT 0 AS position, 'planning' AS name, 0::real AS ends
        UNION ALL
        SELECT d.position, d.phase ->> 'name', (d.phase ->> 'ends')::real
          FROM jsonb_array_elements(v_phases) WITH ORDINALITY AS d(phase, position)
        UNION ALL
        SELECT 1, 'processing', 100 WHERE jsonb_array_length(v_phases) = 0
      ) p
    ON CONFLICT (user_id, type, unique_key)
      WHERE unique_key IS NOT NULL AND status IN ('queued', 'processing') DO NOTHING
    RETURNING id INTO v_job;
    EXIT WHEN v_job IS NOT NULL;
    SELECT j.id INTO v_job FROM public.jobs j
     WHERE j.user_id = v_user AND j.type = p_type AND j.unique_key = p_unique_key
       AND j.status IN ('queued', 'processing');
    IF FOUND AND p_on_conflict = 'existing' THEN
      UPDATE public.idempotency_keys SET job_id = v_job WHERE user_id = v_user AND key = p_idempotency_key;
      RETURN v_job;
    ELSIF FOUND THEN
      PERFORM shoal.refuse('SH409', 'job_exists',
        format('A %s job with the key %L is alive: %s.', p_type, p_unique_key, v_job),
        'Wait for it, cancel it, or ask for the existing one.');
    END IF;
  END LOOP;
  INSERT INTO public.job_tasks (job_id, name, task_type, phase, order_key, delayed, run_at)
  VALUES (v_job, 'plan', 'plan:' || p_type, 1, shoal.order_key(p_priority),
          coalesce(p_run_at > clock_timestamp(), false), p_run_at);
  UPDATE public.idempotency_keys SET job_id = v_job WHERE user_id = v_user AND key = p_idempotency_key;
  PERFORM pg_notify('shoal_tasks', '');
  RETURN v_job;
END
$$;

-- plan_job: replace the plan task this worker holds by the graph it worked out, in one step.
-- The graph is {"tasks": [{name, task_type, phase?, input?, needs?: [name], on_failure?, executor?,
-- max_attempts?, backoff_s?, timeout_s?}], "result"?: name}; a task may only need earlier ones, so
-- that no cycle can be written down. Returns false when the lease was lost.
-- Locks: the plan task, then the job. Planning twice under one claim changes nothing and is true.
CREATE FUNCTION shoal.plan_job(p_worker_id text, p_task_id uuid, p_claim_token uuid, p_graph jsonb)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_plan   public.job_tasks;
  v_job    public.jobs;
  v_wrong  text;
  v_now    timestamptz := clock_timestamp();
BEGIN
  SELECT * INTO v_plan FROM public.job_tasks t WHERE t.id = p_task_id FOR UPDATE;
  IF v_plan.claim_token IS DISTINCT FROM p_claim_token OR v_plan.worker_id IS DISTINCT FROM p_worker_id
     OR v_plan.status NOT IN ('claimed', 'complete') THEN
    RETURN false;
  ELSIF v_plan.status = 'complete' THEN
    RETURN true;
  END IF;
  SELECT * INTO v_job FROM public.jobs j WHERE j.id = v_plan.job_id;

  v_wrong := shoal.wrong_in_graph(p_graph, v_job.phase_names);
  IF v_wrong IS NOT NULL THEN
    PERFORM shoal.refuse('SH400', 'invalid_graph', v_wrong);
  END IF;

  WITH given AS MATERIALIZED (
    SELECT g.position, shoal.uuid7() AS id, g.task
      FROM jsonb_array_elements(p_graph -> 'tasks') WITH ORDINALITY AS g(task, position)
  ), edge AS MATERIALIZED (
    SELECT need.id AS needs, g.id AS task_id, coalesce(g.task ->> 'on_failure', 'fail') AS on_failure
      FROM given g
     CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(nullif(g.task -> 'needs', 'null'), '[]')) AS n(name)
      JOIN given need ON need.task ->> 'name' = n.name
  ), inserted AS (
    INSERT INTO public.job_tasks (id, job_id, name, task_type, executor, sequence, phase, input,
      max_attempts, backoff_s, timeout_s, waiting_on, fan_in, fan_out, order_key)
    SELECT g.id, v_job.id, g.task ->> 'name', g.task ->> 'task_type',
           coalesce(g.task ->> 'executor', 'worker'), g.position,
           coalesce(array_position(v_job.phase_names, g.task ->> 'phase'), 2),
           coalesce(g.task -> 'input', '{}'), coalesce((g.task ->> 'max_attempts')::int, 3),
           coalesce((g.task ->> 'backoff_s')::real, 5), (g.task ->> 'timeout_s')::real,
           coalesce(i.n, 0), coalesce(i.n, 0), coalesce(o.n, 0),
           shoal.order_key(v_job.priority, v_now) + g.position
      FROM given g
      LEFT JOIN (SELECT task_id, count(*)::int AS n FROM edge GROUP BY task_id) i ON i.task_id = g.id
      LEFT JOIN (SELECT needs, count(*)::int AS n FROM edge GROUP BY needs) o ON o.needs = g.id
  ), linked AS (
    INSERT INTO public.task_edges (needs, task_id, on_failure) SELECT needs, task_id, on_failure FROM edge
  )
  UPDATE public.jobs j
     SET result_task_id = (SELECT id FROM given WHERE task ->> 'name' = p_graph ->> 'result')
   WHERE j.id = v_job.id;

  UPDATE public.job_tasks t SET status = 'complete', finished_at = clock_timestamp()
   WHERE t.id = p_task_id;
  DELETE FROM public.task_leases l WHERE l.task_id = p_task_id;
  PERFORM pg_notify('shoal_tasks', '');
  RETURN true;
END
$$;

-- What is wrong with a graph, or NULL. Whatever p_graph is: nothing of it is cast before it was looked at.
CREATE FUNCTION shoal.wrong_in_graph(p_graph jsonb, p_phases text[]) RETURNS text LANGUAGE sql
STABLE SET search_path = '' AS $$
  WITH given AS MATERIALIZED (
    SELECT g.position, g.task, g.task ->> 'name' AS name,
           coalesce(nullif(g.task -> 'needs', 'null'), '[]') AS needs
      FROM jsonb_array_elements(CASE jsonb_typeof(p_graph -> 'tasks') WHEN 'array' THEN p_graph -> 'tasks'
                                ELSE '[]' END) WITH ORDINALITY AS g(task, position)
  ), need AS MATERIALIZED (
    SELECT g.position, g.name, n.name AS needed
      FROM given g
     CROSS JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(g.needs) WHEN 'array' THEN g.needs
                                                  ELSE '[]' END) AS n(name)
  ), number AS MATERIALIZED (
    SELECT g.name, n.key,
           CASE WHEN jsonb_typeof(n.value) = 'number' THEN n.value::numeric ELSE 'NaN' END AS value
      FROM given g
     CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(g.task) WHEN 'object' THEN g.task ELSE '{}' END) AS n
     WHERE n.key IN ('max_attempts', 'backoff_s', 'timeout_s') AND n.value <> 'null'
  ), wrong AS (
    SELECT 1 AS rank, 'it has no list of tasks' AS what
     WHERE jsonb_typeof(p_graph -> 'tasks') IS DISTINCT FROM 'array'
    UNION ALL
    SELECT 2, 'a task has no name or no task_type, or one that is too long' FROM given
     WHERE NOT coalesce(length(name) BETWEEN 1 AND 255, false)
        OR NOT coalesce(length(task ->> 'task_type') BETWEEN 1 AND 127, false)
    UNION ALL
    SELECT 3, format('two tasks are named %L', name) FROM given GROUP BY name HAVING count(*) > 1
    UNION ALL
    SELECT 4, format('what task %L needs is not a list of names', name) FROM given
     WHERE jsonb_typeof(needs) <> 'array'
    UNION ALL
    SELECT 5, format('task %L needs %L, which is not a task before it', n.name, n.needed) FROM need n
     WHERE NOT EXISTS (SELECT FROM given p WHERE p.name = n.needed AND p.position < n.position)
    UNION ALL
    SELECT 6, format('task %L needs %L twice', name, needed) FROM need GROUP BY name, needed HAVING count(*) > 1
    UNION ALL
    SELECT 7, format('task %L is in the phase %L, which the job does not have', name, task ->> 'phase')
      FROM given WHERE NOT task ->> 'phase' = ANY (p_phases)
    UNION ALL
    SELECT 8, format('task %L cannot be a plan', name) FROM given WHERE task ->> 'task_type' LIKE 'plan:%'
    UNION ALL
    SELECT 9, format('on_failure of task %L is not fail, skip or ignore', name) FROM given
     WHERE task ->> 'on_failure' NOT IN ('fail', 'skip', 'ignore')
    UNION ALL
    SELECT 10, format('the executor of task %L is not worker, fleet or mesh', name) FROM given
     WHERE task ->> 'executor' NOT IN ('worker', 'fleet', 'mesh')
    UNION ALL
    SELECT 11, format('max_attempts of task %L is not a whole number from 1 to 100', name) FROM number
     WHERE key = 'max_attempts' AND NOT (value BETWEEN 1 AND 100 AND value % 1 = 0)
    UNION ALL
    SELECT 12, format('%s of task %L is not a number of seconds', key, name) FROM number
     WHERE key <> 'max_attempts' AND NOT (value = 0 OR value BETWEEN 0.000001 AND 1000000000)
    UNION ALL
    SELECT 13, format('the result is task %L, which the graph does not have', p_graph ->> 'result')
     WHERE p_graph ->> 'result' IS NOT NULL
       AND NOT EXISTS (SELECT FROM given WHERE name = p_graph ->> 'result')
  )
  SELECT 'The graph is not valid: ' || what || '.' FROM wrong ORDER BY rank LIMIT 1
$$;

-- An artifact belongs to the attempt that made it. A row without a claim token is given that of the
-- task's current attempt; links are signed when read, so a public_url is accepted and not kept.
CREATE FUNCTION shoal.adopt_artifact() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  NEW.public_url := NULL;
  SELECT t.job_id, coalesce(NEW.claim_token, t.claim_token) INTO NEW.job_id, NEW.claim_token
    FROM public.job_tasks t WHERE t.id = NEW.task_id AND t.status = 'claimed';
  IF NOT FOUND THEN
    PERFORM shoal.refuse('SH409', 'task_not_claimed', 'The task of this artifact is not claimed.',
      'Add artifacts while the task is held, before completing it.');
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER adopt_artifact BEFORE INSERT ON public.job_artifacts
  FOR EACH ROW EXECUTE FUNCTION shoal.adopt_artifact();

-- add_artifacts: what a worker's task made, for the attempt it holds. Returns false when the lease
-- was lost; repeating the call adds nothing.
CREATE FUNCTION shoal.add_artifacts(p_worker_id text, p_task_id uuid, p_claim_token uuid, p_artifacts jsonb)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM FROM public.job_tasks t
    WHERE t.id = p_task_id AND t.status = 'claimed' AND t.claim_token = p_claim_token
      AND t.worker_id = p_worker_id FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO public.job_artifacts (job_id, task_id, claim_token, name, artifact_type, storage_path,
    content_type, file_size_bytes, duration_seconds, sha256)
  SELECT NULL, p_task_id, p_claim_token, a.name, a.artifact_type, a.storage_path, a.content_type,
         a.file_size_bytes, a.duration_seconds, a.sha256
    FROM jsonb_to_recordset(p_artifacts) AS a(name text, artifact_type text, storage_path text,
      content_type text, file_size_bytes bigint, duration_seconds float, sha256 text)
  ON CONFLICT (task_id, claim_token, storage_path) DO NOTHING;
  RETURN true;
END
$$;
