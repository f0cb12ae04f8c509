-- How jobs begin: create_job and create_jobs, by anybody, for registered types; and the artifacts that
-- tasks leave behind.

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

-- What a client's idempotency key stood for: a job, or a batch of them. Nobody reads it but create_job and
-- create_jobs.
CREATE TABLE public.idempotency_keys (
  user_id       uuid NOT NULL,
  key           text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  request_hash  bytea NOT NULL,
  job_id        uuid REFERENCES public.jobs (id) ON DELETE CASCADE,
  job_ids       uuid[],
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

-- The phases of a new job: the one in which it is planned, and those of its type.
CREATE FUNCTION shoal.phases_of_type(p_type text, OUT names text[], OUT ends real[], OUT zeros int[])
LANGUAGE plpgsql STABLE SET search_path = '' AS $$
DECLARE
  v_phases jsonb;
BEGIN
  SELECT t.phases INTO v_phases FROM public.job_types t WHERE t.type = p_type;
  IF NOT FOUND THEN
    PERFORM shoal.refuse('SH404', 'unknown_job_type', format('There is no job type %L.', p_type),
      'Start a worker whose app declares it; a worker registers its job types when it starts.');
  END IF;
  SELECT array_agg(p.name ORDER BY p.position), array_agg(p.ends ORDER BY p.position), array_agg(0)
    INTO names, ends, zeros
    FROM (
      SELECT 0 AS position, 'planning' AS name, 0::real AS ends
      UNION ALL
      SELECT d.position, d.phase ->> 'name', (d.phase ->> 'ends')::real
        FROM jsonb_array_elements(v_phases) WITH ORDINALITY AS d(phase, position)
      UNION ALL
      SELECT 1, 'processing', 100 WHERE jsonb_array_length(v_phases) = 0
    ) p;
END
$$;

-- For whom the caller may start a job.
CREATE FUNCTION shoal.job_owner(p_user_id uuid) RETURNS uuid LANGUAGE plpgsql STABLE SET search_path = '' AS $$
DECLARE
  v_user uuid := coalesce(p_user_id, auth.uid());
BEGIN
  IF v_user IS NULL THEN
    PERFORM shoal.refuse('SH400', 'job_owner_missing', 'The job has no owner.', 'A service names the user (userId, p_user_id).');
  END IF;
  IF NOT shoal.is_service() AND v_user IS DISTINCT FROM auth.uid() THEN
    PERFORM shoal.refuse('SH403', 'job_owner_foreign', 'A user starts jobs only for themselves.');
  END IF;
  RETURN v_user;
END
$$;

-- Insert jobs with their first tasks; returns their ids in the order given: those of new jobs, or of the
-- living ones that have their unique keys. p_jobs is what create_jobs takes.
CREATE FUNCTION shoal.insert_jobs(p_user_id uuid, p_jobs jsonb, p_on_conflict text) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_ids    uuid[] := ARRAY(SELECT shoal.uuid7() FROM generate_series(1, jsonb_array_length(p_jobs)));
  v_new    uuid[];
  v_first  record;
  v_lost   record;
  v_living uuid;
BEGIN
  IF jsonb_path_exists(p_jobs, '$[*].run_at ? (@ like_regex "infinity")') THEN
    PERFORM shoal.refuse('SH400', 'run_at_infinite', 'A job starts at some point in time.');
  END IF;
  WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (
      unnest(v_ids),
      jsonb_to_recordset(p_jobs) AS (type text, params jsonb, priority int, unique_key text)
    ) AS g(id, type, params, priority, unique_key)
  ), phases AS MATERIALIZED (
    SELECT t.type, p.* FROM (SELECT DISTINCT type FROM given) t CROSS JOIN LATERAL shoal.phases_of_type(t.type) p
  ), inserted AS (
    INSERT INTO public.jobs (id, user_id, type, params, priority, unique_key,
                             phase_names, phase_ends, phase_total, phase_done)
    SELECT g.id, p_user_id, g.type, coalesce(g.params, '{}'), coalesce(g.priority, 0), g.unique_key,
           p.names, p.ends, p.zeros, p.zeros
      FROM given g JOIN phases p ON p.type IS NOT DISTINCT FROM g.type
    ON CONFLICT (user_id, type, unique_key)
      WHERE unique_key IS NOT NULL AND status IN ('queued', 'processing') DO NOTHING
    RETURNING id
  )
  SELECT array_agg(id) INTO v_new FROM inserted;

  SELECT array_agg(g.id) FILTER (WHERE g.graph IS NULL) AS open,
         array_agg(g.run_at) FILTER (WHERE g.graph IS NULL) AS open_run_at,
         array_agg(g.id) FILTER (WHERE g.graph IS NOT NULL) AS planned,
         array_agg(g.graph) FILTER (WHERE g.graph IS NOT NULL) AS graphs,
         array_agg(g.run_at) FILTER (WHERE g.graph IS NOT NULL) AS planned_run_at
    INTO v_first
    FROM ROWS FROM (
      unnest(v_ids), jsonb_to_recordset(p_jobs) AS (graph jsonb, run_at timestamptz)
    ) AS g(id, graph, run_at)
   WHERE g.id = ANY (v_new);
  IF v_first.open IS NOT NULL THEN
    PERFORM shoal.insert_plan_tasks(v_first.open, v_first.open_run_at);
  END IF;
  IF v_first.planned IS NOT NULL THEN
    PERFORM shoal.insert_graphs(v_first.planned, v_first.graphs);
    UPDATE public.job_tasks t SET delayed = true, run_at = g.run_at
      FROM unnest(v_first.planned, v_first.planned_run_at) AS g(job_id, run_at)
     WHERE t.job_id = g.job_id AND g.run_at > clock_timestamp();
    UPDATE public.jobs j  -- what is made of nothing has nothing to wait for
       SET status = 'complete', started_at = clock_timestamp(), finished_at = clock_timestamp()
     WHERE j.id = ANY (v_first.planned) AND j.tasks_total = 0;
  END IF;
  PERFORM pg_notify('shoal_tasks', '');

  IF cardinality(v_new) IS DISTINCT FROM cardinality(v_ids) THEN
    FOR v_lost IN
      SELECT g.* FROM ROWS FROM (unnest(v_ids), jsonb_to_recordset(p_jobs) AS (type text, unique_key text))
             WITH ORDINALITY AS g(id, type, unique_key, position)
       WHERE g.id <> ALL (coalesce(v_new, '{}'))
    LOOP
      SELECT j.id INTO v_living FROM public.jobs j
       WHERE j.user_id = p_user_id AND j.type = v_lost.type AND j.unique_key = v_lost.unique_key
         AND j.status IN ('queued', 'processing');
      IF NOT FOUND THEN  -- it has just ended
        v_living := (shoal.insert_jobs(p_user_id, jsonb_build_array(p_jobs -> (v_lost.position - 1)::int), p_on_conflict))[1];
      ELSIF p_on_conflict <> 'existing' THEN
        PERFORM shoal.refuse('SH409', 'job_exists',
          format('A %s job with the key %L is alive: %s.', v_lost.type, v_lost.unique_key, v_living),
          'Wait for it, cancel it, or ask for the existing one.');
      END IF;
      v_ids[v_lost.position] := v_living;
    END LOOP;
  END IF;
  RETURN v_ids;
END
$$;

-- The plan tasks of new jobs. They stand in their queue by the clock and the priority of the job alone.
CREATE FUNCTION shoal.insert_plan_tasks(p_job_ids uuid[], p_run_at timestamptz[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  INSERT INTO public.job_tasks (job_id, name, task_type, phase, order_key, delayed, run_at)
  SELECT j.id, 'plan', 'plan:' || j.type, 1,
         shoal.microseconds(greatest(clock_timestamp(), g.run_at)) - j.priority * 60000000::bigint,
         coalesce(g.run_at > clock_timestamp(), false), g.run_at
    FROM unnest(p_job_ids, p_run_at) AS g(job_id, run_at)
    JOIN public.jobs j ON j.id = g.job_id
$$;

-- Take a key for a request; returns what was made for it before, or NULL when it is new.
CREATE FUNCTION shoal.take_idempotency_key(p_user_id uuid, p_key text, p_request jsonb)
RETURNS public.idempotency_keys LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_hash  bytea := sha256(convert_to(p_request::text, 'UTF8'));
  v_known public.idempotency_keys;
BEGIN
  INSERT INTO public.idempotency_keys (user_id, key, request_hash) VALUES (p_user_id, p_key, v_hash)
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    RETURN NULL;
  END IF;
  SELECT * INTO v_known FROM public.idempotency_keys k WHERE k.user_id = p_user_id AND k.key = p_key;
  IF v_known.request_hash IS DISTINCT FROM v_hash THEN
    PERFORM shoal.refuse('SH409', 'idempotency_key_reused',
      'This idempotency key was used for another request.', 'Use a new key for a new request.');
  END IF;
  RETURN v_known;
END
$$;

-- create_job: start a job of a registered type; returns its id. May be called inside the caller's own
-- transaction. It begins with one plan task, which a worker of the app that registered the type runs.
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
  v_user  uuid := shoal.job_owner(p_user_id);
  v_given jsonb := jsonb_build_object('type', p_type, 'params', p_params, 'priority', p_priority,
                                      'unique_key', p_unique_key, 'run_at', p_run_at);
  v_known public.idempotency_keys;
  v_job   uuid;
BEGIN
  IF p_idempotency_key IS NOT NULL THEN
    v_known := shoal.take_idempotency_key(v_user, p_idempotency_key, jsonb_build_array(v_given, p_on_conflict));
    IF v_known.key IS NOT NULL THEN
      RETURN v_known.job_id;
    END IF;
  END IF;
  v_job := (shoal.insert_jobs(v_user, jsonb_build_array(v_given), p_on_conflict))[1];
  UPDATE public.idempotency_keys SET job_id = v_job WHERE user_id = v_user AND key = p_idempotency_key;
  RETURN v_job;
END
$$;

-- Which of these jobs is the first that cannot be inserted (the first is 0), when they cannot all be. Each
-- half that can be is kept for those behind it, so it costs no more than inserting them all; the caller
-- raises an error, and nothing of it stays.
CREATE FUNCTION shoal.first_wrong_job(p_user_id uuid, p_jobs jsonb, p_on_conflict text) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_jobs jsonb[] := ARRAY(SELECT j FROM jsonb_array_elements(p_jobs) AS j);
  v_from int := 1;
  v_to   int := cardinality(v_jobs);
  v_half int;
BEGIN
  WHILE v_from < v_to LOOP
    v_half := (v_from + v_to) / 2;
    BEGIN
      PERFORM shoal.insert_jobs(p_user_id, to_jsonb(v_jobs[v_from : v_half]), p_on_conflict);
      v_from := v_half + 1;
    EXCEPTION WHEN SQLSTATE 'SH000' OR data_exception OR integrity_constraint_violation THEN
      v_to := v_half;
    END;
  END LOOP;
  RETURN v_from - 1;
END
$$;

-- create_jobs: start many jobs in one call, all of them or none; returns their ids in the order given. An
-- error says which job it is about, as in jobs[17]; the first is jobs[0].
--   p_jobs  [{type, params?, priority?, unique_key?, run_at?, graph?}, …], at most 10,000
--   graph   what the job is made of (0009), from a service whose code has worked it out: the job then
--           needs no plan task
-- The other parameters are those of create_job; the idempotency key is one for all.
CREATE FUNCTION public.create_jobs(
  p_jobs jsonb, p_user_id uuid DEFAULT NULL, p_on_conflict text DEFAULT 'reject', p_idempotency_key text DEFAULT NULL
) RETURNS uuid[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_user       uuid := shoal.job_owner(p_user_id);
  v_known      public.idempotency_keys;
  v_ids        uuid[];
  v_state      text;
  v_message    text;
  v_code       text;
  v_hint       text;
  v_constraint text;
BEGIN
  IF jsonb_typeof(p_jobs) IS DISTINCT FROM 'array' OR jsonb_array_length(p_jobs) NOT BETWEEN 1 AND 10000 THEN
    PERFORM shoal.refuse('SH400', 'wrong_number_of_jobs', 'One call starts from 1 to 10,000 jobs.');
  END IF;
  IF jsonb_path_exists(p_jobs, '$[*].graph') AND NOT shoal.is_service() THEN
    PERFORM shoal.refuse('SH403', 'graph_not_allowed', 'A user cannot say what a job is made of.',
      'Leave out the graph: a worker that has the code of the job plans it.');
  END IF;
  IF p_idempotency_key IS NOT NULL THEN
    v_known := shoal.take_idempotency_key(v_user, p_idempotency_key, jsonb_build_array(p_jobs, p_on_conflict));
    IF v_known.key IS NOT NULL THEN
      RETURN v_known.job_ids;
    END IF;
  END IF;
  BEGIN
    v_ids := shoal.insert_jobs(v_user, p_jobs, p_on_conflict);
  EXCEPTION WHEN SQLSTATE 'SH000' OR data_exception OR integrity_constraint_violation THEN
    GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_code = PG_EXCEPTION_DETAIL,
      v_hint = PG_EXCEPTION_HINT, v_constraint = CONSTRAINT_NAME;
    RAISE EXCEPTION USING ERRCODE = v_state, DETAIL = v_code, HINT = v_hint, CONSTRAINT = v_constraint,
      MESSAGE = format('jobs[%s]: %s', shoal.first_wrong_job(v_user, p_jobs, p_on_conflict), v_message);
  END;
  UPDATE public.idempotency_keys SET job_ids = v_ids WHERE user_id = v_user AND key = p_idempotency_key;
  RETURN v_ids;
END
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
