-- What the migrations make. Written by: python -m tests.integration.ledger.schema_dump
CREATE SCHEMA auth;

CREATE SCHEMA shoal;

CREATE DOMAIN shoal.attempt_limit AS integer
	CONSTRAINT attempt_limit_check CHECK (((VALUE >= 1) AND (VALUE <= 100)));

CREATE DOMAIN shoal.error_text AS text
	CONSTRAINT error_fits CHECK ((length(VALUE) <= 16384));

CREATE DOMAIN shoal.event_name AS text
	CONSTRAINT event_name_check CHECK (((length(VALUE) >= 1) AND (length(VALUE) <= 126)));

CREATE DOMAIN shoal.event_payload AS jsonb
	CONSTRAINT event_payload_fits CHECK ((octet_length((VALUE)::text) <= 262144));

CREATE DOMAIN shoal.executor AS text
	CONSTRAINT executor_check CHECK ((VALUE = ANY (ARRAY['worker'::text, 'fleet'::text, 'mesh'::text])));

CREATE DOMAIN shoal.frequency_unit AS character varying(16)
	CONSTRAINT frequency_unit_check CHECK (((VALUE)::text = ANY ((ARRAY['SECONDS'::character varying, 'MINUTES'::character varying, 'HOURS'::character varying, 'DAYS'::character varying, 'WEEKS'::character varying, 'MONTHS'::character varying, 'YEARS'::character varying, 'CRON'::character varying])::text[])));

CREATE DOMAIN shoal.job_params AS jsonb
	CONSTRAINT job_params_fit CHECK ((octet_length((VALUE)::text) <= 65536));

CREATE DOMAIN shoal.schedule_data AS text
	CONSTRAINT schedule_data_fits CHECK ((octet_length(VALUE) <= 65536));

CREATE DOMAIN shoal.schedule_moment AS timestamp with time zone
	CONSTRAINT schedule_out_of_range CHECK (((VALUE >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (VALUE < '9000-01-01 00:00:00+00'::timestamp with time zone)));

CREATE DOMAIN shoal.schedule_name AS character varying(126)
	CONSTRAINT schedule_name_check CHECK (((VALUE)::text ~ '^[A-Za-z0-9][A-Za-z0-9 _.:/-]{0,125}$'::text));

CREATE DOMAIN shoal.scheduled_event AS character varying(126)
	CONSTRAINT scheduled_event_check CHECK ((((VALUE)::text = 'job.start'::text) OR ((VALUE)::text ~ '^user\.[a-z0-9_.-]{1,120}$'::text)));

CREATE DOMAIN shoal.seconds AS real
	CONSTRAINT seconds_check CHECK (((VALUE >= (0)::double precision) AND (VALUE < 'Infinity'::real)));

CREATE DOMAIN shoal.short_name AS text
	CONSTRAINT short_name_check CHECK ((length(VALUE) <= 255));

CREATE DOMAIN shoal.task_input AS jsonb
	CONSTRAINT task_input_fits CHECK ((octet_length((VALUE)::text) <= 65536));

CREATE DOMAIN shoal.task_output AS jsonb
	CONSTRAINT task_output_fits CHECK ((octet_length((VALUE)::text) <= 65536));

CREATE DOMAIN shoal.task_status AS text
	CONSTRAINT task_status_check CHECK ((VALUE = ANY (ARRAY['pending'::text, 'claimed'::text, 'complete'::text, 'failed'::text, 'cancelled'::text])));

CREATE DOMAIN shoal.type_name AS text
	CONSTRAINT type_name_check CHECK (((length(VALUE) >= 1) AND (length(VALUE) <= 127)));

CREATE FUNCTION auth.jwt() RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
      SELECT coalesce(nullif(current_setting('request.jwt.claims', true), ''), '{}')::jsonb
    $$;

CREATE FUNCTION auth.uid() RETURNS uuid
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
      SELECT nullif(auth.jwt() ->> 'sub', '')::uuid
    $$;

CREATE FUNCTION public.add_schedule(p_schedule jsonb, p_host_id uuid DEFAULT NULL::uuid, p_on_conflict text DEFAULT 'reject'::text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_host  uuid := shoal.schedule_host(p_host_id);
  v_known public.schedule_t;
  v_new   public.schedule_t;
  v_now   timestamptz := clock_timestamp();
BEGIN
  IF p_on_conflict = 'replace' THEN
    SELECT * INTO v_known FROM public.schedule_t s
     WHERE s.host_id = v_host AND s.schedule_name = p_schedule ->> 'schedule_name' FOR NO KEY UPDATE;
  END IF;
  v_new := jsonb_populate_record(NULL::public.schedule_t, jsonb_build_object(
      'schedule_id', shoal.uuid7(), 'frequency_time', 1, 'event_topic', 'user', 'event_data', '{}', 'zone', 'UTC',
      'start_ts', coalesce(v_known.start_ts, v_now), 'jitter_s', 0, 'missed_runs', 'last', 'missed_limit', 100,
      'overlap', 'allow')
    || jsonb_strip_nulls(p_schedule - 'schedule_id'));
  IF v_known.schedule_id IS NULL THEN
    INSERT INTO public.schedule_t (schedule_id, host_id, schedule_name, frequency_unit, frequency_time, start_ts,
      next_run_ts, event_topic, event_type, event_data, cron, zone, end_ts, max_runs, jitter_s, missed_runs,
      missed_limit, missed_window_s, overlap)
    VALUES (v_new.schedule_id, v_host, v_new.schedule_name, v_new.frequency_unit, v_new.frequency_time, v_new.start_ts,
      greatest(v_new.start_ts, v_now), v_new.event_topic, v_new.event_type, v_new.event_data, v_new.cron, v_new.zone,
      v_new.end_ts, v_new.max_runs, v_new.jitter_s, v_new.missed_runs, v_new.missed_limit, v_new.missed_window_s,
      v_new.overlap)
    ON CONFLICT (host_id, schedule_name) DO NOTHING;
    IF NOT FOUND THEN
      PERFORM shoal.refuse('SH409', 'schedule_exists', format('There is a schedule %L already.', v_new.schedule_name),
        'Choose another name, or replace it (--replace, onConflict).');
    END IF;
    PERFORM shoal.tell_of_schedules(ARRAY[v_new.schedule_id], 'schedule.created');
  ELSE
    v_new.schedule_id := v_known.schedule_id;
    IF shoal.schedule_says(v_known) = shoal.schedule_says(v_new) THEN
      RETURN v_known.schedule_id;
    END IF;
    UPDATE public.schedule_t s
       SET frequency_unit = v_new.frequency_unit, frequency_time = v_new.frequency_time, start_ts = v_new.start_ts,
           event_topic = v_new.event_topic, event_type = v_new.event_type, event_data = v_new.event_data,
           cron = v_new.cron, zone = v_new.zone, end_ts = v_new.end_ts, max_runs = v_new.max_runs,
           jitter_s = v_new.jitter_s, missed_runs = v_new.missed_runs, missed_limit = v_new.missed_limit,
           missed_window_s = v_new.missed_window_s, overlap = v_new.overlap,
           active = s.paused_at IS NULL AND (v_new.max_runs IS NULL OR s.runs < v_new.max_runs),
           ended_at = CASE WHEN s.runs >= v_new.max_runs THEN coalesce(s.ended_at, v_now) END,
           parked_at = NULL, error = NULL, next_fire_ts = NULL, next_run_ts = greatest(v_new.start_ts, v_now),
           aggregate_version = s.aggregate_version + 1, updated_at = v_now
     WHERE s.schedule_id = v_known.schedule_id;
    PERFORM shoal.tell_of_schedules(ARRAY[v_new.schedule_id], 'schedule.changed');
  END IF;
  PERFORM pg_notify('shoal_schedules', '');
  RETURN v_new.schedule_id;
END
$$;

CREATE FUNCTION public.add_webhook(p_url text, p_patterns text[] DEFAULT '{*}'::text[], p_user_id uuid DEFAULT NULL::uuid, OUT name text, OUT secret text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $_$
DECLARE
  v_user uuid := CASE WHEN shoal.is_service() THEN p_user_id ELSE auth.uid() END;
BEGIN
  IF NOT shoal.is_service() AND (v_user IS NULL OR p_user_id <> v_user) THEN
    PERFORM shoal.refuse('SH403', 'sink_owner_foreign', 'A user has webhooks for their own events only.');
  ELSIF NOT coalesce(length(p_url) <= 2000 AND p_url ~ '^https?://[^/@ ]+(/[^ ]*)?$', false) THEN
    PERFORM shoal.refuse('SH400', 'invalid_webhook_url', 'A webhook goes to an http(s) URL without a password.');
  ELSIF NOT coalesce(shoal.are_patterns(p_patterns), false) THEN
    PERFORM shoal.refuse('SH400', 'invalid_pattern', 'These are not types of events.',
      'Write job.completed, job.* or *.');
  ELSIF v_user IS NOT NULL AND (SELECT count(*) FROM public.event_sink_t s WHERE s.user_id = v_user) >= 20 THEN
    PERFORM shoal.refuse('SH409', 'too_many_webhooks', 'There are 20 webhooks already.', 'Remove one of them.');
  END IF;
  name := 'webhook-' || left(replace(gen_random_uuid()::text, '-', ''), 12);
  secret := 'whsec_' || encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'base64');
  PERFORM shoal.add_sink(name, 'webhook', p_patterns, v_user, jsonb_build_object('url', p_url), secret);
END
$_$;

CREATE FUNCTION public.cancel_job(p_job_id uuid, p_reason text DEFAULT 'Cancelled.'::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_status text;
BEGIN
  PERFORM shoal.require_visible_job(p_job_id);
  PERFORM FROM public.job_tasks t WHERE t.job_id = p_job_id ORDER BY t.id FOR UPDATE;
  -- Again: while we waited for its plan task, it may have been planned.
  PERFORM FROM public.job_tasks t WHERE t.job_id = p_job_id ORDER BY t.id FOR UPDATE;
  SELECT j.status INTO v_status FROM public.jobs j WHERE j.id = p_job_id FOR NO KEY UPDATE;
  IF v_status NOT IN ('queued', 'processing') THEN
    RETURN v_status;
  END IF;
  UPDATE public.jobs j
     SET status = 'cancelled', error = left(p_reason, 16384), finished_at = clock_timestamp(),
         updated_at = clock_timestamp()
   WHERE j.id = p_job_id;
  UPDATE public.job_tasks t
     SET status = 'cancelled', error = left(p_reason, 16384), delayed = false, finished_at = clock_timestamp()
   WHERE t.job_id = p_job_id AND t.status IN ('pending', 'claimed');
  DELETE FROM public.task_leases l USING public.job_tasks t WHERE t.job_id = p_job_id AND l.task_id = t.id;
  PERFORM pg_notify('shoal_cancelled', '');
  PERFORM shoal.wake_for_limits();
  RETURN 'cancelled';
END
$$;

CREATE FUNCTION public.cancel_task(p_task_id uuid, p_reason text DEFAULT 'Cancelled.'::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.job_of_task(p_task_id);
  PERFORM shoal.lock_tasks_and_descendants(ARRAY[p_task_id]);
  UPDATE public.job_tasks t
     SET status = 'cancelled', error = left(p_reason, 16384), delayed = false, finished_at = clock_timestamp()
   WHERE t.id = p_task_id AND t.status IN ('pending', 'claimed');
  IF FOUND THEN
    DELETE FROM public.task_leases l WHERE l.task_id = p_task_id;
    PERFORM shoal.spread_failure(ARRAY[p_task_id]);
    PERFORM pg_notify('shoal_cancelled', '');
    PERFORM shoal.wake_for_limits();
  END IF;
  RETURN (SELECT t.status FROM public.job_tasks t WHERE t.id = p_task_id);
END
$$;

CREATE FUNCTION public.change_node(p_node_id uuid, p_changes jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.lock_own_node(p_node_id);
  UPDATE public.nodes n
     SET name = coalesce(p_changes ->> 'name', n.name),
         max_parallel = CASE WHEN p_changes ? 'max_parallel' THEN (p_changes ->> 'max_parallel')::int ELSE n.max_parallel END,
         paused = coalesce((p_changes ->> 'paused')::boolean, n.paused), changed_at = clock_timestamp()
   WHERE n.id = p_node_id;
  PERFORM shoal.node_event(p_node_id, 'node.changed');
END
$$;

CREATE FUNCTION public.claim_node(p_claim_code text, p_name text DEFAULT NULL::text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_node uuid;
BEGIN
  IF auth.uid() IS NULL THEN
    PERFORM shoal.refuse('SH403', 'node_owner_missing', 'Only a user can own a node.', 'Use a user''s token.');
  END IF;
  UPDATE public.nodes n
     SET user_id = auth.uid(), claimed_at = clock_timestamp(), claim_code = NULL, name = coalesce(p_name, n.name),
         changed_at = clock_timestamp()
   WHERE n.claim_code = p_claim_code AND n.user_id IS NULL AND n.revoked_at IS NULL
  RETURNING n.id INTO v_node;
  IF v_node IS NULL THEN
    PERFORM shoal.refuse('SH404', 'claim_code_unknown', 'No node that can be claimed has this code.',
      'A node shows its code when it starts; a code works once.');
  END IF;
  PERFORM shoal.node_event(v_node, 'node.claimed');
  RETURN v_node;
END
$$;

CREATE FUNCTION shoal.uuid7() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    AS $$SELECT pg_catalog.uuidv7()$$;

CREATE TABLE public.job_tasks (
    id uuid DEFAULT shoal.uuid7() NOT NULL,
    job_id uuid NOT NULL,
    name shoal.short_name DEFAULT ''::text NOT NULL,
    task_type shoal.type_name NOT NULL,
    executor shoal.executor DEFAULT 'worker'::text NOT NULL,
    sequence integer DEFAULT 0 NOT NULL,
    phase smallint DEFAULT 1 NOT NULL,
    status shoal.task_status DEFAULT 'pending'::text NOT NULL,
    input shoal.task_input DEFAULT '{}'::jsonb NOT NULL,
    output shoal.task_output,
    error shoal.error_text,
    worker_id shoal.short_name,
    claim_token uuid,
    claimed_at timestamp with time zone,
    lease_s integer DEFAULT 180 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    max_attempts shoal.attempt_limit DEFAULT 3 NOT NULL,
    backoff_s shoal.seconds DEFAULT 5 NOT NULL,
    timeout_s shoal.seconds,
    waiting_on integer DEFAULT 0 NOT NULL,
    fan_in integer DEFAULT 0 NOT NULL,
    fan_out integer DEFAULT 0 NOT NULL,
    delayed boolean DEFAULT false NOT NULL,
    run_at timestamp with time zone,
    order_key bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT job_tasks_waiting_on_check CHECK ((waiting_on >= 0)),
    CONSTRAINT task_claim_is_whole CHECK ((((status)::text <> 'claimed'::text) OR ((worker_id IS NOT NULL) AND (claim_token IS NOT NULL) AND (claimed_at IS NOT NULL))))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.1');

CREATE FUNCTION public.claim_tasks(p_worker_id text, p_max_tasks integer, p_task_types text[], p_claim_token uuid DEFAULT NULL::uuid) RETURNS SETOF public.job_tasks
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_claimed uuid[] := ARRAY(
    SELECT w.task_id FROM shoal.claim_work(p_worker_id, p_max_tasks, p_task_types, 180,
      coalesce(p_claim_token, gen_random_uuid()), p_claim_token IS NOT NULL) w);
BEGIN
  RETURN QUERY
    SELECT t.* FROM unnest(v_claimed) WITH ORDINALITY AS c(id, position)
      JOIN public.job_tasks t ON t.id = c.id ORDER BY c.position;
END
$$;

CREATE FUNCTION public.complete_task(p_task_id uuid, p_worker_id text, p_output jsonb DEFAULT NULL::jsonb, p_claim_token uuid DEFAULT NULL::uuid) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  SELECT NOT EXISTS (
    SELECT FROM shoal.complete_tasks(p_worker_id, ARRAY[p_task_id], ARRAY[p_claim_token], ARRAY[p_output])
     WHERE verdict = 'lease_lost')
$$;

CREATE FUNCTION public.create_job(p_type text, p_params jsonb DEFAULT '{}'::jsonb, p_user_id uuid DEFAULT NULL::uuid, p_priority integer DEFAULT 0, p_unique_key text DEFAULT NULL::text, p_on_conflict text DEFAULT 'reject'::text, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION public.create_jobs(p_jobs jsonb, p_user_id uuid DEFAULT NULL::uuid, p_on_conflict text DEFAULT 'reject'::text, p_idempotency_key text DEFAULT NULL::text) RETURNS uuid[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $_$
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
$_$;

CREATE FUNCTION public.delete_schedule(p_schedule_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.lock_schedule(p_schedule_id);
  PERFORM shoal.tell_of_schedules(ARRAY[p_schedule_id], 'schedule.deleted');
  DELETE FROM public.schedule_t s WHERE s.schedule_id = p_schedule_id;
  DELETE FROM public.schedule_fires f WHERE f.schedule_id = p_schedule_id;
END
$$;

CREATE FUNCTION public.emit_event(p_type text, p_payload jsonb DEFAULT '{}'::jsonb, p_key text DEFAULT ''::text, p_user_id uuid DEFAULT NULL::uuid, p_event_id uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $_$
DECLARE
  v_user uuid := CASE WHEN shoal.is_service() THEN p_user_id ELSE auth.uid() END;
  v_id   uuid := coalesce(p_event_id, shoal.uuid7());
BEGIN
  IF v_user IS NULL THEN
    PERFORM shoal.refuse('SH400', 'event_owner_missing', 'The event has no owner.', 'A service names the user (userId).');
  ELSIF NOT shoal.is_service() AND p_user_id <> v_user THEN
    PERFORM shoal.refuse('SH403', 'event_owner_foreign', 'A user makes only events of their own.');
  ELSIF NOT coalesce(p_type ~ '^user\.[a-z0-9_.-]{1,121}$', false) THEN
    PERFORM shoal.refuse('SH400', 'invalid_event_type', format('%L cannot be the type of an event of yours.', p_type),
      'Types of your own begin with user. and have small letters, digits, _, . and -.');
  ELSIF octet_length(p_payload::text) > 65536 OR length(p_key) > 200 THEN
    PERFORM shoal.refuse('SH413', 'event_too_large', 'The payload of an event has at most 65,536 bytes, its key 200 characters.');
  END IF;
  PERFORM shoal.append_events('user', ARRAY[concat_ws(':', v_user, nullif(p_key, ''))], ARRAY[p_type], ARRAY[p_payload],
    ARRAY[v_user], p_event_ids => ARRAY[v_id]);
  RETURN v_id;
END
$_$;

CREATE FUNCTION public.fail_task(p_task_id uuid, p_worker_id text, p_error text DEFAULT ''::text, p_claim_token uuid DEFAULT NULL::uuid) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  SELECT verdict <> 'lease_lost'
    FROM shoal.fail_tasks(p_worker_id, ARRAY[p_task_id], ARRAY[p_claim_token], ARRAY[p_error],
      ARRAY[false], ARRAY[NULL::real])
$$;

CREATE FUNCTION public.forget_dead_letters(p_sink text, p_event_ids uuid[] DEFAULT NULL::uuid[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_forgotten int;
BEGIN
  PERFORM shoal.require_own_sink(p_sink);
  DELETE FROM public.event_dead_letter_t d
   WHERE d.sink = p_sink AND (p_event_ids IS NULL OR d.event_id = ANY (p_event_ids));
  GET DIAGNOSTICS v_forgotten = ROW_COUNT;
  RETURN v_forgotten;
END
$$;

CREATE FUNCTION public.heartbeat_task(p_task_id uuid, p_worker_id text, p_claim_token uuid DEFAULT NULL::uuid) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  SELECT EXISTS (
    SELECT FROM shoal.heartbeat_tasks(p_worker_id, ARRAY[p_task_id], ARRAY[p_claim_token],
      ARRAY[(SELECT l.progress FROM public.task_leases l WHERE l.task_id = p_task_id)],
      ARRAY[(SELECT l.message FROM public.task_leases l WHERE l.task_id = p_task_id)]))
$$;

CREATE FUNCTION public.limit_task_type(p_task_type text, p_max_running integer DEFAULT NULL::integer, p_rate_per_s double precision DEFAULT NULL::double precision, p_burst integer DEFAULT 1) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  INSERT INTO public.task_limits AS l (task_type, max_running, rate_per_s, burst, tokens)
  VALUES (p_task_type, p_max_running, p_rate_per_s, p_burst, p_burst)
  ON CONFLICT (task_type) DO UPDATE
    SET max_running = excluded.max_running, rate_per_s = excluded.rate_per_s, burst = excluded.burst,
        tokens = excluded.tokens, counted_at = excluded.counted_at;
  PERFORM shoal.forget_empty_limit(p_task_type);
END
$$;

CREATE FUNCTION public.limit_vault(p_user_id uuid, p_max_bytes bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  INSERT INTO public.vault_usage (user_id, max_bytes) VALUES (p_user_id, p_max_bytes)
  ON CONFLICT (user_id) DO UPDATE SET max_bytes = excluded.max_bytes
$$;

CREATE FUNCTION public.pause_event_sink(p_name text, p_because text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.require_own_sink(p_name);
  UPDATE public.event_sink_t s SET paused_because = p_because WHERE s.name = p_name;
  UPDATE public.consumer_offset_t k SET retry_at = NULL WHERE k.sink = p_name AND p_because IS NULL;
  PERFORM pg_notify('shoal_events', '');
END
$$;

CREATE FUNCTION public.pause_schedule(p_schedule_id uuid, p_reason text DEFAULT 'Paused.'::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_found public.schedule_t := shoal.lock_schedule(p_schedule_id);
BEGIN
  IF v_found.ended_at IS NOT NULL THEN
    PERFORM shoal.refuse('SH409', 'schedule_ended', 'The schedule has ended.');
  END IF;
  UPDATE public.schedule_t s
     SET active = false, paused_at = coalesce(s.paused_at, clock_timestamp()), pause_reason = p_reason,
         aggregate_version = s.aggregate_version + 1, updated_at = clock_timestamp()
   WHERE s.schedule_id = p_schedule_id;
  PERFORM shoal.tell_of_schedules(ARRAY[p_schedule_id], 'schedule.paused');
END
$$;

CREATE FUNCTION public.pause_task_type(p_task_type text, p_reason text DEFAULT 'Paused.'::text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  INSERT INTO public.task_limits AS l (task_type, paused_because) VALUES (p_task_type, p_reason)
  ON CONFLICT (task_type) DO UPDATE SET paused_because = excluded.paused_because
$$;

CREATE FUNCTION public.purge_jobs(p_statuses text[] DEFAULT NULL::text[], p_type text DEFAULT NULL::text, p_finished_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_user_id uuid DEFAULT NULL::uuid, p_dry_run boolean DEFAULT false, OUT jobs integer, OUT artifacts integer, OUT bytes bigint, OUT more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION public.reclaim_stale_tasks() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_stale   uuid[];
  v_failed  uuid[];
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('shoal.reclaim_stale_tasks', 0)) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(id) INTO v_stale FROM shoal.stale_tasks;
  IF v_stale IS NULL THEN
    RETURN 0;
  END IF;
  PERFORM shoal.lock_tasks_and_descendants(v_stale);
  WITH ended AS (
    UPDATE public.job_tasks t
       SET status = CASE WHEN t.attempts < t.max_attempts THEN 'pending' ELSE 'failed' END,
           error = format('Worker %s fell silent during attempt %s.', t.worker_id, t.attempts),
           worker_id = NULL, claim_token = NULL, claimed_at = NULL,
           finished_at = CASE WHEN t.attempts >= t.max_attempts THEN clock_timestamp() END
      FROM shoal.stale_tasks s  -- looked at again: it may have stirred while we waited for the locks
     WHERE t.id = s.id AND t.id = ANY (v_stale)
    RETURNING t.id, t.status
  )
  SELECT array_agg(id), array_agg(id) FILTER (WHERE status = 'failed') INTO v_stale, v_failed FROM ended;
  DELETE FROM public.task_leases l WHERE l.task_id = ANY (v_stale);
  IF v_failed IS NOT NULL THEN
    PERFORM shoal.spread_failure(v_failed);
  END IF;
  PERFORM pg_notify('shoal_tasks', '');
  RETURN coalesce(cardinality(v_stale), 0);
END
$$;

CREATE FUNCTION public.remove_event_sink(p_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.require_own_sink(p_name);
  DELETE FROM public.event_sink_t s WHERE s.name = p_name;
  PERFORM pg_notify('shoal_events', '');
END
$$;

CREATE FUNCTION public.replay_dead_letters(p_sink text, p_event_ids uuid[] DEFAULT NULL::uuid[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_told int;
BEGIN
  PERFORM shoal.require_own_sink(p_sink);
  WITH again AS (
    DELETE FROM public.event_dead_letter_t d
     WHERE d.sink = p_sink AND (p_event_ids IS NULL OR d.event_id = ANY (p_event_ids))
    RETURNING d.event_id
  )
  INSERT INTO public.outbox_message_t (event_id, partition, sink)
  SELECT e.event_id, shoal.partition_of(e.aggregate_id), p_sink
    FROM again a JOIN public.event_store_t e ON e.event_id = a.event_id ORDER BY e.tx, e.seq;
  GET DIAGNOSTICS v_told = ROW_COUNT;
  PERFORM pg_notify('shoal_events', '');
  RETURN v_told;
END
$$;

CREATE FUNCTION public.replay_events(p_sink text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_until timestamp with time zone DEFAULT NULL::timestamp with time zone, p_types text[] DEFAULT NULL::text[], p_event_ids uuid[] DEFAULT NULL::uuid[], p_at_most integer DEFAULT 100000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_sink public.event_sink_t;
  v_told int;
BEGIN
  PERFORM shoal.require_own_sink(p_sink);
  SELECT s.* INTO v_sink FROM public.event_sink_t s WHERE s.name = p_sink;
  INSERT INTO public.outbox_message_t (event_id, partition, sink)
  SELECT e.event_id, shoal.partition_of(e.aggregate_id), p_sink FROM public.event_store_t e
   WHERE (p_event_ids IS NULL OR e.event_id = ANY (p_event_ids))
     AND (p_from IS NULL OR e.occurred_at >= p_from) AND (p_until IS NULL OR e.occurred_at < p_until)
     AND (p_types IS NULL OR shoal.event_matches(e.event_type, p_types))
     AND shoal.event_matches(e.event_type, v_sink.patterns)
     AND (v_sink.user_id IS NULL OR e.user_id = v_sink.user_id)
   ORDER BY e.tx, e.seq LIMIT least(p_at_most, 100000);
  GET DIAGNOSTICS v_told = ROW_COUNT;
  PERFORM pg_notify('shoal_events', '');
  RETURN v_told;
END
$$;

CREATE FUNCTION public.resume_schedule(p_schedule_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_found public.schedule_t := shoal.lock_schedule(p_schedule_id);
BEGIN
  IF v_found.ended_at IS NOT NULL THEN
    PERFORM shoal.refuse('SH409', 'schedule_ended', 'The schedule has ended.', 'Add it anew, with another end.');
  ELSIF v_found.active THEN
    RETURN;
  END IF;
  UPDATE public.schedule_t s
     SET active = true, paused_at = NULL, pause_reason = NULL, parked_at = NULL, error = NULL, next_fire_ts = NULL,
         next_run_ts = greatest(s.start_ts, clock_timestamp()),
         aggregate_version = s.aggregate_version + 1, updated_at = clock_timestamp()
   WHERE s.schedule_id = p_schedule_id;
  PERFORM shoal.tell_of_schedules(ARRAY[p_schedule_id], 'schedule.resumed');
  PERFORM pg_notify('shoal_schedules', '');
END
$$;

CREATE FUNCTION public.resume_task_type(p_task_type text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  UPDATE public.task_limits l SET paused_because = NULL WHERE l.task_type = p_task_type;
  PERFORM shoal.forget_empty_limit(p_task_type);
END
$$;

CREATE FUNCTION public.retry_job(p_job_id uuid) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_retried int;
BEGIN
  PERFORM shoal.require_visible_job(p_job_id);
  v_retried := shoal.retry_tasks(p_job_id, ARRAY(
    SELECT t.id FROM public.job_tasks t WHERE t.job_id = p_job_id AND t.status IN ('failed', 'cancelled')));
  IF v_retried = 0 THEN
    PERFORM shoal.refuse('SH409', 'nothing_to_retry', 'No task of the job failed or was cancelled.');
  END IF;
  RETURN v_retried;
END
$$;

CREATE FUNCTION public.retry_task(p_task_id uuid) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_retried int;
  v_job     uuid := shoal.job_of_task(p_task_id);
BEGIN
  v_retried := shoal.retry_tasks(v_job, ARRAY(
    WITH RECURSIVE below(id) AS (
      SELECT p_task_id
      UNION SELECT e.task_id FROM below JOIN public.task_edges e ON e.needs = below.id
    ) SELECT id FROM below));
  IF EXISTS (SELECT FROM public.job_tasks t WHERE t.id = p_task_id AND t.status IN ('failed', 'cancelled')) THEN
    PERFORM shoal.refuse('SH409', 'needs_failed', 'A task that it needs failed or was cancelled.',
      'Try that one again, or the whole job.');
  ELSIF v_retried = 0 THEN
    PERFORM shoal.refuse('SH409', 'nothing_to_retry', 'The task has not failed, nor was it cancelled.');
  END IF;
  RETURN v_retried;
END
$$;

CREATE FUNCTION public.revoke_node(p_node_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.lock_own_node(p_node_id);
  UPDATE public.nodes n SET revoked_at = clock_timestamp(), changed_at = clock_timestamp() WHERE n.id = p_node_id;
  PERFORM shoal.node_event(p_node_id, 'node.revoked');
END
$$;

CREATE FUNCTION public.run_schedule(p_schedule_id uuid, p_fire_ts timestamp with time zone[], p_kind text DEFAULT 'manual'::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_found public.schedule_t := shoal.lock_schedule(p_schedule_id);
  v_new   int;
BEGIN
  IF p_kind IS NULL OR p_kind NOT IN ('manual', 'backfill') THEN
    PERFORM shoal.refuse('SH400', 'invalid_kind', 'A run somebody asks for is manual or backfill.');
  ELSIF coalesce(cardinality(p_fire_ts), 0) NOT BETWEEN 1 AND 10000 THEN
    PERFORM shoal.refuse('SH400', 'wrong_number_of_runs', 'One call fires from 1 to 10,000 runs.');
  END IF;
  WITH run AS (
    INSERT INTO public.schedule_fires AS f (schedule_id, fire_ts, kind, event_id)
    SELECT p_schedule_id, r.fire_ts, p_kind, shoal.run_event_id(p_schedule_id, r.fire_ts, p_kind)
      FROM unnest(p_fire_ts) AS r(fire_ts)
    ON CONFLICT DO NOTHING
    RETURNING f.fire_ts, f.event_id
  )
  SELECT shoal.append_events('schedule', array_agg(p_schedule_id::text), array_agg(v_found.event_type::text),
           array_agg(o.payload), array_agg(v_found.host_id), NULL, array_agg(o.event_id),
           array_agg(v_found.event_topic::text))
    INTO v_new
    FROM (SELECT r.event_id, shoal.run_payload(p_schedule_id, v_found.schedule_name, r.fire_ts, p_kind, v_found.event_data)
                 AS payload FROM run r ORDER BY r.fire_ts) o
  HAVING count(*) > 0;
  RETURN coalesce(v_new, 0);
END
$$;

CREATE FUNCTION public.set_node_access(p_node_id uuid, p_access jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.lock_own_node(p_node_id);
  DELETE FROM public.nodes_permissions p WHERE p.node_id = p_node_id;
  INSERT INTO public.nodes_permissions (node_id, access_type, target_id)
  SELECT DISTINCT p_node_id, a.access_type, coalesce(a.target_id, '')
    FROM jsonb_to_recordset(p_access) AS a(access_type text, target_id text);
  UPDATE public.nodes n SET changed_at = clock_timestamp() WHERE n.id = p_node_id;
  PERFORM shoal.node_event(p_node_id, 'node.access_changed');
END
$$;

CREATE FUNCTION public.store_config(p_body text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_hash text := encode(sha256(convert_to(p_body, 'UTF8')), 'hex');
BEGIN
  IF octet_length(p_body) > 524288 THEN
    PERFORM shoal.refuse('SH413', 'config_too_large',
      format('The config has %s bytes; 524288 are allowed.', octet_length(p_body)), 'Keep large data in an artifact.');
  END IF;
  INSERT INTO public.configs (hash, body, created_by) VALUES (v_hash, p_body, auth.uid())
  ON CONFLICT (hash) DO UPDATE SET used_at = clock_timestamp();
  RETURN v_hash;
END
$$;

CREATE FUNCTION shoal.add_artifacts(p_worker_id text, p_task_id uuid, p_claim_token uuid, p_artifacts jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION shoal.add_at(counters integer[], positions integer[], ns integer[]) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO ''
    AS $$
BEGIN
  FOR k IN 1 .. coalesce(cardinality(positions), 0) LOOP
    counters[positions[k]] := coalesce(counters[positions[k]], 0) + ns[k];
  END LOOP;
  RETURN counters;
END
$$;

CREATE FUNCTION shoal.add_logs(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_at timestamp with time zone[], p_levels text[], p_lines text[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  WITH own AS MATERIALIZED (
    SELECT t.id, t.job_id, t.claim_token FROM public.job_tasks t
     WHERE t.id = ANY (p_task_ids) AND t.worker_id = p_worker_id ORDER BY t.id FOR KEY SHARE
  )
  INSERT INTO public.task_logs (job_id, task_id, at, level, line)
  SELECT own.job_id, own.id, g.at, g.level, left(g.line, 4096)
    FROM unnest(p_task_ids, p_claim_tokens, p_at, p_levels, p_lines) WITH ORDINALITY
         AS g(id, token, at, level, line, position)
    JOIN own ON own.id = g.id AND own.claim_token = g.token
   ORDER BY g.position
$$;

CREATE FUNCTION shoal.add_sink(p_name text, p_kind text, p_patterns text[], p_user_id uuid DEFAULT NULL::uuid, p_config jsonb DEFAULT '{}'::jsonb, p_secret text DEFAULT NULL::text, p_max_attempts integer DEFAULT 10) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_known public.event_sink_t;
  v_new   boolean;
BEGIN
  INSERT INTO public.event_sink_t (name, kind, patterns, user_id, config, max_attempts)
  VALUES (p_name, p_kind, p_patterns, p_user_id, p_config, p_max_attempts)
  ON CONFLICT (name) DO NOTHING;
  v_new := FOUND;
  IF v_new THEN
    INSERT INTO public.consumer_offset_t (sink, partition, position)
    SELECT p_name, c.partition, c.last_position FROM public.outbox_partition_t c ORDER BY c.partition;
  ELSE
    SELECT s.* INTO v_known FROM public.event_sink_t s WHERE s.name = p_name FOR UPDATE;
    IF v_known.kind <> p_kind OR v_known.user_id IS DISTINCT FROM p_user_id THEN
      PERFORM shoal.refuse('SH409', 'sink_exists', format('The name %s is taken.', p_name), 'Choose another one.');
    END IF;
    UPDATE public.event_sink_t s SET patterns = p_patterns, config = p_config, max_attempts = p_max_attempts
     WHERE s.name = p_name
       AND (s.patterns, s.config, s.max_attempts) IS DISTINCT FROM (p_patterns, p_config, p_max_attempts);
  END IF;
  INSERT INTO shoal.sink_secrets AS k (sink, secret) SELECT p_name, p_secret WHERE p_secret IS NOT NULL
  ON CONFLICT (sink) DO UPDATE SET secret = excluded.secret;
  PERFORM pg_notify('shoal_events', '');
  RETURN v_new;
END
$$;

CREATE FUNCTION shoal.adopt_artifact() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION shoal.advance_cursors(p_sink text, p_holder uuid, p_partitions smallint[], p_positions bigint[], p_done boolean, p_lease_s real DEFAULT 30) RETURNS SETOF smallint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  UPDATE public.consumer_offset_t k
     SET position = greatest(k.position, g.position), attempts = 0, failing_since = NULL, retry_at = NULL,
         last_error = NULL, moved_at = clock_timestamp(),
         holder = CASE WHEN NOT p_done THEN k.holder END,
         held_until = CASE WHEN NOT p_done THEN clock_timestamp() + make_interval(secs => p_lease_s) END
    FROM unnest(p_partitions, p_positions) AS g(partition, position)
   WHERE k.sink = p_sink AND k.partition = g.partition AND k.holder = p_holder
  RETURNING k.partition
$$;

CREATE FUNCTION shoal.append_events(p_aggregate_type text, p_aggregate_ids text[], p_event_types text[], p_payloads jsonb[] DEFAULT NULL::jsonb[], p_user_ids uuid[] DEFAULT NULL::uuid[], p_aggregate_versions bigint[] DEFAULT NULL::bigint[], p_event_ids uuid[] DEFAULT NULL::uuid[], p_event_topics text[] DEFAULT NULL::text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $_$
DECLARE
  v_types  text[] := ARRAY(SELECT DISTINCT unnest(p_event_types));
  v_wanted text[];
  v_wrong  text;
  v_quiet  boolean;
  v_new    int;
  v_told   int;
BEGIN
  SELECT array_agg(t) FILTER (WHERE EXISTS (SELECT FROM public.event_sink_t s WHERE shoal.event_matches(t, s.patterns))),
         min(t) FILTER (WHERE t !~ '^[a-z][a-z0-9_.-]{0,125}$')
    INTO v_wanted, v_wrong FROM unnest(v_types) AS t;
  v_wanted := coalesce(v_wanted, '{}');
  IF v_wrong IS NOT NULL OR array_position(v_types, NULL) IS NOT NULL THEN
    PERFORM shoal.refuse('SH400', 'invalid_event_type', format('%L cannot be the type of an event.', v_wrong),
      'Types have small letters, digits, _, . and -, and begin with a letter.');
  ELSIF NOT EXISTS (SELECT FROM unnest(v_types) AS t WHERE shoal.event_is_kept(t) OR t = ANY (v_wanted)) THEN
    RETURN 0;
  END IF;
  -- A commit that notifies waits for the commits of all others that do. While something waits for its position,
  -- somebody has been woken for it, and looks once more before going back to sleep.
  v_quiet := cardinality(v_wanted) > 0
             AND NOT EXISTS (SELECT FROM public.outbox_message_t o WHERE o.position IS NULL);
  WITH new AS (
    INSERT INTO public.event_store_t AS e (event_id, aggregate_type, aggregate_id, aggregate_version, event_type,
                                           event_topic, payload, user_id)
    SELECT coalesce(g.event_id, shoal.uuid7()), p_aggregate_type, g.aggregate_id, g.aggregate_version, g.event_type,
           coalesce(g.event_topic, p_aggregate_type), coalesce(g.payload, '{}'), g.user_id
      FROM unnest(p_event_ids, p_aggregate_ids, p_aggregate_versions, p_event_types, p_event_topics, p_payloads,
                  p_user_ids) WITH ORDINALITY
           AS g(event_id, aggregate_id, aggregate_version, event_type, event_topic, payload, user_id, nr)
     WHERE g.event_type = ANY (v_wanted) OR shoal.event_is_kept(g.event_type)
     ORDER BY g.nr
    ON CONFLICT (event_id) DO NOTHING
    RETURNING e.event_id, e.aggregate_id, e.event_type, e.seq
  ), told AS (
    INSERT INTO public.outbox_message_t (event_id, partition)
    SELECT n.event_id, shoal.partition_of(n.aggregate_id) FROM new n
     WHERE n.event_type = ANY (v_wanted) ORDER BY n.seq
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM new), (SELECT count(*) FROM told) INTO v_new, v_told;
  IF v_told > 0 AND v_quiet THEN
    PERFORM pg_notify('shoal_events', '');
  END IF;
  RETURN v_new;
END
$_$;

CREATE FUNCTION shoal.append_events_of_changed_jobs() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.append_events('job', array_agg(c.id::text), array_agg(c.event_type), array_agg(c.payload),
            array_agg(c.user_id), array_agg(c.aggregate_version))
     FROM (
       SELECT n.id, n.user_id, n.aggregate_version, shoal.job_event_payload(n)
              || CASE WHEN n.status = 'complete' THEN jsonb_build_object('result', n.result) ELSE '{}' END AS payload,
              CASE n.status WHEN 'complete' THEN 'job.completed' WHEN 'failed' THEN 'job.failed'
                            WHEN 'cancelled' THEN 'job.cancelled'
                            ELSE CASE o.status WHEN 'queued' THEN 'job.started' ELSE 'job.retried' END END AS event_type
         FROM before o JOIN after n ON n.id = o.id
        WHERE n.status <> o.status
     ) c
    HAVING count(*) > 0;
  RETURN NULL;
END
$$;

CREATE FUNCTION shoal.append_events_of_changed_tasks() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.event_sink_t s, unnest(s.patterns) AS p WHERE starts_with(p, 'task.')) THEN
    RETURN NULL;
  END IF;
  PERFORM shoal.append_events('job', array_agg(c.job_id::text), array_agg(c.event_type), array_agg(c.payload),
            array_agg(c.user_id), p_event_topics => array_agg('task'::text))
     FROM (
       SELECT n.job_id, j.user_id,
              jsonb_strip_nulls(jsonb_build_object(
                'v', 1, 'jobId', n.job_id, 'jobType', j.type, 'taskId', n.id, 'taskName', n.name,
                'taskType', n.task_type, 'executor', n.executor, 'attempt', greatest(n.attempts, o.attempts),
                'worker', coalesce(n.worker_id, o.worker_id),
                'error', CASE WHEN n.status IN ('pending', 'failed', 'cancelled') THEN left(n.error, 2000) END)) AS payload,
              CASE n.status WHEN 'claimed' THEN 'task.claimed' WHEN 'complete' THEN 'task.completed'
                            WHEN 'failed' THEN 'task.failed' WHEN 'cancelled' THEN 'task.cancelled'
                            ELSE 'task.retrying' END AS event_type
         FROM before o JOIN after n ON n.id = o.id JOIN public.jobs j ON j.id = n.job_id
        WHERE n.status <> o.status
        ORDER BY n.id
     ) c
    HAVING count(*) > 0;
  RETURN NULL;
END
$$;

CREATE FUNCTION shoal.append_events_of_new_jobs() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.append_events('job', array_agg(i.id::text), array_agg('job.created'::text),
            array_agg(shoal.job_event_payload(i)), array_agg(i.user_id), array_agg(i.aggregate_version))
     FROM inserted i HAVING count(*) > 0;
  RETURN NULL;
END
$$;

CREATE FUNCTION shoal.are_patterns(p_patterns text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$
  SELECT cardinality(p_patterns) BETWEEN 1 AND 100
     AND (SELECT bool_and(p IS NOT NULL AND p ~ '^([a-z][a-z0-9_.-]{0,125}|[a-z][a-z0-9_.-]{0,123}\.\*|\*)$')
            FROM unnest(p_patterns) AS p)
$_$;

CREATE FUNCTION shoal.backoff(p_base_s real, p_attempt integer, p_chance double precision) RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO ''
    AS $$
  SELECT make_interval(secs =>
    least(p_base_s * power(2, least(greatest(p_attempt, 1) - 1, 30)), 3600) * (1 - p_chance / 2))
$$;

CREATE FUNCTION shoal.claim_fleet_tasks(p_max_tasks integer) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
  PERFORM shoal.promote_due_tasks();
  RETURN QUERY
    WITH ready AS MATERIALIZED (
      SELECT r.id FROM public.job_tasks r
       WHERE r.executor = 'fleet' AND r.status = 'pending' AND r.waiting_on = 0 AND NOT r.delayed
       ORDER BY r.order_key, r.id LIMIT p_max_tasks FOR UPDATE SKIP LOCKED
    )
    UPDATE public.job_tasks t
       SET status = 'claimed', worker_id = 'fleet', claim_token = gen_random_uuid(),
           claimed_at = clock_timestamp(), attempts = t.attempts + 1
      FROM ready WHERE t.id = ready.id
    RETURNING t.id;
END
$$;

CREATE FUNCTION shoal.claim_mesh_task() RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM shoal.promote_due_tasks();
  RETURN QUERY
    WITH ready AS MATERIALIZED (
      SELECT r.id FROM public.job_tasks r
       WHERE r.executor = 'mesh' AND r.status = 'pending' AND r.waiting_on = 0 AND NOT r.delayed
         AND NOT EXISTS (SELECT FROM public.job_tasks h WHERE h.executor = 'mesh' AND h.status = 'claimed')
       ORDER BY r.order_key, r.id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE public.job_tasks t
       SET status = 'claimed', worker_id = 'mesh', claim_token = gen_random_uuid(),
           claimed_at = clock_timestamp(), attempts = t.attempts + 1
      FROM ready
     WHERE t.id = ready.id
    RETURNING t.id;
END
$$;

CREATE FUNCTION shoal.claim_work(p_worker_id text, p_max_tasks integer, p_task_types text[], p_lease_s integer, p_claim_token uuid, p_repeated boolean) RETURNS TABLE(task_id uuid, job_id uuid, user_id uuid, job_type text, task_name text, task_type text, attempt integer, max_attempts integer, timeout_s real, input jsonb, needs jsonb)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
  v_places tid[] := '{}';  -- where the rows are; they stay there while we hold their locks
  v_room   int[];          -- per type: how many its limits let through; null where there is no limit
BEGIN
  IF coalesce(length(p_worker_id), 0) = 0 OR p_claim_token IS NULL THEN
    PERFORM shoal.refuse('SH400', 'worker_id_missing', 'A claim needs the id of the worker and a token.');
  END IF;
  IF p_max_tasks IS NULL OR p_max_tasks < 0 THEN  -- no number would be no LIMIT
    PERFORM shoal.refuse('SH400', 'max_tasks_missing', 'A claim says how many tasks it takes at most.');
  END IF;
  PERFORM pg_advisory_xact_lock(uuid_hash_extended(p_claim_token, 0));
  IF p_repeated THEN
    v_places := ARRAY(
      SELECT t.ctid FROM public.job_tasks t
       WHERE t.status = 'claimed' AND t.claim_token = p_claim_token AND t.worker_id = p_worker_id FOR UPDATE);
  END IF;
  IF cardinality(v_places) = 0 THEN
    PERFORM shoal.promote_due_tasks();
    v_room := shoal.lock_limits(p_task_types);
    v_places := ARRAY(
      SELECT r.place
        FROM unnest(p_task_types, v_room) AS wanted(task_type, room)
       CROSS JOIN LATERAL (
         SELECT t.ctid AS place, t.order_key, t.id FROM public.job_tasks t
          WHERE t.task_type = wanted.task_type
            AND t.status = 'pending' AND t.waiting_on = 0 AND NOT t.delayed AND t.executor = 'worker'
          ORDER BY t.order_key, t.id LIMIT least(p_max_tasks, wanted.room) FOR UPDATE SKIP LOCKED
       ) r
       ORDER BY r.order_key, r.id LIMIT p_max_tasks);
    IF v_room IS NOT NULL THEN
      PERFORM shoal.spend_tokens(v_places);
    END IF;
  END IF;
  IF cardinality(v_places) = 0 THEN
    RETURN;
  END IF;
  RETURN QUERY
    WITH claimed AS (
      UPDATE public.job_tasks t
         SET status = 'claimed', worker_id = p_worker_id, claim_token = p_claim_token,
             claimed_at = clock_timestamp(), lease_s = p_lease_s,
             attempts = t.attempts + (t.status = 'pending')::int
       WHERE t.ctid = ANY (v_places)
      RETURNING t.id, t.job_id, t.name, t.task_type, t.attempts, t.max_attempts, t.timeout_s, t.input,
                t.fan_in, t.order_key
    )
    SELECT c.id, c.job_id, j.user_id, j.type, c.name::text, c.task_type::text, c.attempts, c.max_attempts::int,
           c.timeout_s::real, CASE WHEN c.task_type LIKE 'plan:%' THEN j.params::jsonb ELSE c.input::jsonb END,
           CASE WHEN c.fan_in > 0 THEN (
             SELECT jsonb_object_agg(n.name, n.output) FROM public.task_edges e
               JOIN public.job_tasks n ON n.id = e.needs WHERE e.task_id = c.id) END
      FROM claimed c
      JOIN public.jobs j ON j.id = c.job_id
     ORDER BY c.order_key, c.id;
END
$$;

CREATE FUNCTION shoal.complete_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_outputs jsonb[]) RETURNS TABLE(task_id uuid, verdict text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
  v_done    uuid[];
  v_feeding uuid[];
BEGIN
  PERFORM shoal.lock_tasks(p_task_ids);
  WITH done AS (
    UPDATE public.job_tasks t
       SET status = 'complete', output = g.output, error = NULL, finished_at = clock_timestamp()
      FROM unnest(p_task_ids, p_claim_tokens, p_outputs) AS g(id, token, output)
     WHERE t.id = g.id AND t.status = 'claimed' AND t.worker_id = p_worker_id
       AND (g.token IS NULL OR t.claim_token = g.token)
    RETURNING t.id, t.fan_out
  )
  SELECT array_agg(id), array_agg(id) FILTER (WHERE fan_out > 0) INTO v_done, v_feeding FROM done;
  IF v_feeding IS NOT NULL THEN
    PERFORM shoal.release_dependants(v_feeding, false);
  END IF;
  DELETE FROM public.task_leases l WHERE l.task_id = ANY (v_done);
  PERFORM shoal.wake_for_limits();
  IF cardinality(v_done) = cardinality(p_task_ids) THEN
    RETURN;
  END IF;
  RETURN QUERY
    SELECT g.id, CASE WHEN t.status = 'complete' AND t.worker_id = p_worker_id
                       AND (g.token IS NULL OR t.claim_token = g.token) THEN 'already_completed'
                      ELSE 'lease_lost' END
      FROM unnest(p_task_ids, p_claim_tokens) AS g(id, token)
      LEFT JOIN public.job_tasks t ON t.id = g.id
     WHERE NOT g.id = ANY (coalesce(v_done, '{}'));
END
$$;

CREATE FUNCTION shoal.count_artifact_changes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION shoal.count_job_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
BEGIN
  NEW.aggregate_version := OLD.aggregate_version + 1;
  RETURN NEW;
END
$$;

CREATE FUNCTION shoal.count_kept_bytes(p_user_ids uuid[], p_bytes bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION shoal.count_new_tasks() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM FROM public.jobs j WHERE j.id IN (SELECT job_id FROM inserted) ORDER BY j.id FOR NO KEY UPDATE;
  UPDATE public.jobs j
     SET tasks_total = j.tasks_total + d.n,
         tasks_open = j.tasks_open + d.opened,
         phase_total = shoal.add_at(j.phase_total, d.phases, d.ns),
         phase_done = shoal.add_at(j.phase_done, d.phases, d.dones),
         updated_at = clock_timestamp()
    FROM (
      SELECT p.job_id, sum(p.n)::int AS n, sum(p.opened)::int AS opened,
             array_agg(p.phase) AS phases, array_agg(p.n) AS ns, array_agg(p.done) AS dones
        FROM (
          SELECT i.job_id, i.phase::int AS phase, count(*)::int AS n,
                 count(*) FILTER (WHERE i.status IN ('pending', 'claimed'))::int AS opened,
                 count(*) FILTER (WHERE i.status = 'complete')::int AS done
            FROM inserted i GROUP BY i.job_id, i.phase
        ) p
       GROUP BY p.job_id
    ) d
   WHERE j.id = d.job_id;
  RETURN NULL;
END
$$;

CREATE FUNCTION shoal.count_task_changes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_jobs     uuid[];
  v_phases   int[];
  v_opened   int[];
  v_done     int[];
  v_failed   int[];
  v_cancelled int[];
  v_counts   boolean;
BEGIN
  SELECT array_agg(c.job_id), array_agg(c.phase), array_agg(c.opened), array_agg(c.done), array_agg(c.failed),
         array_agg(c.cancelled), bool_or(c.opened <> 0 OR c.failed <> 0 OR c.cancelled <> 0)
    INTO v_jobs, v_phases, v_opened, v_done, v_failed, v_cancelled, v_counts
    FROM (
      SELECT n.job_id, n.phase::int AS phase,
             sum((n.status IN ('pending', 'claimed'))::int
                 - (o.status IN ('pending', 'claimed'))::int)::int AS opened,
             sum((n.status = 'complete')::int - (o.status = 'complete')::int)::int AS done,
             sum((n.status = 'failed')::int - (o.status = 'failed')::int)::int AS failed,
             sum((n.status = 'cancelled')::int - (o.status = 'cancelled')::int)::int AS cancelled
        FROM before o JOIN after n ON n.id = o.id
       WHERE n.status <> o.status
       GROUP BY n.job_id, n.phase
    ) c;
  IF v_jobs IS NULL THEN
    RETURN NULL;
  END IF;

  PERFORM FROM public.jobs j
    WHERE j.id = ANY (v_jobs) AND (v_counts OR j.status = 'queued')
    ORDER BY j.id FOR NO KEY UPDATE;
  UPDATE public.jobs j
     SET tasks_open = j.tasks_open + d.opened,
         tasks_failed = j.tasks_failed + d.failed,
         tasks_cancelled = j.tasks_cancelled + d.cancelled,
         phase_done = shoal.add_at(j.phase_done, d.phases, d.dones),
         status = s.status,
         started_at = coalesce(j.started_at, clock_timestamp()),
         finished_at = CASE WHEN s.ends THEN clock_timestamp() WHEN s.status = 'processing' THEN NULL
                            ELSE j.finished_at END,
         result = CASE WHEN s.ends AND s.status = 'complete' THEN
                    (SELECT t.output FROM public.job_tasks t
                      WHERE t.job_id = j.id AND t.sequence = j.result_sequence) END,
         error = CASE WHEN s.ends AND s.status = 'failed' THEN
                   (SELECT left(t.error, 16384) FROM public.job_tasks t
                     WHERE t.job_id = j.id AND t.status = 'failed' ORDER BY t.finished_at, t.id LIMIT 1)
                   WHEN s.status = 'cancelled' THEN j.error END,
         updated_at = clock_timestamp()
    FROM (
      SELECT c.job_id, sum(c.opened)::int AS opened, sum(c.failed)::int AS failed,
             sum(c.cancelled)::int AS cancelled, array_agg(c.phase) AS phases,
             array_agg(c.done) AS dones
        FROM unnest(v_jobs, v_phases, v_opened, v_done, v_failed, v_cancelled)
             AS c(job_id, phase, opened, done, failed, cancelled)
       GROUP BY c.job_id
    ) d
    JOIN public.jobs now ON now.id = d.job_id
    CROSS JOIN LATERAL (SELECT now.tasks_open + d.opened = 0 AS ends) e
    CROSS JOIN LATERAL (
      SELECT e.ends, CASE
               WHEN now.status = 'cancelled' THEN 'cancelled'
               WHEN NOT e.ends THEN 'processing'
               WHEN now.tasks_failed + d.failed > 0 THEN 'failed'
               WHEN now.tasks_cancelled + d.cancelled = now.tasks_total THEN 'cancelled'
               ELSE 'complete' END AS status
    ) s
   WHERE j.id = d.job_id AND (v_counts OR j.status = 'queued');
  RETURN NULL;
END
$$;

CREATE FUNCTION shoal.delete_jobs(p_job_ids uuid[], OUT jobs integer, OUT artifacts integer, OUT bytes bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION shoal.delete_old_events(p_keep interval, OUT deleted integer, OUT untold integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
  v_old uuid[] := ARRAY(
    SELECT o.event_id FROM (
      SELECT e.event_id, e.occurred_at FROM public.event_store_t e ORDER BY e.tx, e.seq LIMIT 2000) o
     WHERE o.occurred_at < clock_timestamp() - p_keep);
BEGIN
  untold := 0;
  IF cardinality(v_old) > 0 AND EXISTS (SELECT FROM public.outbox_message_t) THEN
    WITH gone AS (  -- the oldest there are, for there is no index on whose they are
      DELETE FROM public.outbox_message_t o
       WHERE o.id IN (SELECT m.id FROM public.outbox_message_t m ORDER BY m.id LIMIT 10000) AND o.event_id = ANY (v_old)
      RETURNING o.id)
    SELECT count(*) INTO untold FROM gone;
  END IF;
  DELETE FROM public.event_dead_letter_t d WHERE d.event_id = ANY (v_old);
  DELETE FROM shoal.consumed_events c WHERE c.event_id = ANY (v_old);
  DELETE FROM public.event_store_t e WHERE e.event_id = ANY (v_old);
  GET DIAGNOSTICS deleted = ROW_COUNT;
END
$$;

CREATE FUNCTION shoal.delete_old_fires(p_older_than interval, p_at_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_count int;
BEGIN
  DELETE FROM public.schedule_fires f
   WHERE f.ctid = ANY (ARRAY(SELECT o.ctid FROM public.schedule_fires o
                              WHERE o.fired_at < clock_timestamp() - p_older_than
                                AND o.outcome IS DISTINCT FROM 'queued' LIMIT p_at_most));
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END
$$;

CREATE FUNCTION shoal.delete_old_jobs(p_keep_ended interval, p_keep_failed interval, OUT jobs integer, OUT artifacts integer, OUT bytes bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION shoal.delete_old_keys() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION shoal.delete_old_lines(p_keep interval) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION shoal.delete_told_messages(p_at_most integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
  v_deleted int;
BEGIN
  DELETE FROM public.outbox_message_t d WHERE d.id IN (
    SELECT o.id FROM (
      SELECT c.partition, coalesce(min(k.position), c.last_position) AS told FROM public.outbox_partition_t c
        LEFT JOIN public.consumer_offset_t k ON k.partition = c.partition
       GROUP BY c.partition, c.last_position
    ) t
    CROSS JOIN LATERAL (
      SELECT m.id FROM public.outbox_message_t m
       WHERE m.partition = t.partition AND m.position <= t.told ORDER BY m.position LIMIT p_at_most
    ) o LIMIT p_at_most);
  GET DIAGNOSTICS v_deleted = ROW_COUNT;
  RETURN v_deleted;
END
$$;

CREATE FUNCTION shoal.disown_objects(p_paths text[]) RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
  DELETE FROM public.job_artifacts a USING unnest(p_paths) AS g(path), public.job_tasks t
   WHERE a.storage_path = g.path AND t.id = a.task_id
     AND (t.status NOT IN ('claimed', 'complete') OR t.claim_token IS DISTINCT FROM a.claim_token);
  RETURN QUERY
    SELECT g.path FROM unnest(p_paths) AS g(path)
     WHERE NOT EXISTS (SELECT FROM public.job_artifacts a WHERE a.storage_path = g.path);
END
$$;

CREATE FUNCTION shoal.elect_scheduler(p_instance_id text, p_lease_s real, OUT elected_at timestamp with time zone, OUT free_in_s double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  INSERT INTO public.scheduler_lock_t AS l (lock_id, instance_id, last_heartbeat, elected_at, lease_s)
  VALUES (1, p_instance_id, clock_timestamp(), clock_timestamp(), p_lease_s)
  ON CONFLICT (lock_id) DO UPDATE
     SET instance_id = excluded.instance_id, last_heartbeat = clock_timestamp(), elected_at = clock_timestamp(),
         lease_s = excluded.lease_s
   WHERE l.last_heartbeat < clock_timestamp() - l.lease_s * interval '1 second'
  RETURNING l.elected_at INTO elected_at;
  IF elected_at IS NULL THEN
    SELECT greatest(l.lease_s - extract(epoch FROM clock_timestamp() - l.last_heartbeat), 0) INTO free_in_s
      FROM public.scheduler_lock_t l WHERE l.lock_id = 1;
  END IF;
END
$$;

CREATE FUNCTION shoal.job_progress(status text, names text[], ends real[], totals integer[], dones integer[], message text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO ''
    AS $$
DECLARE
  here    int := 0;
  reached real := 0;
  start   real := 0;
  i       int;
BEGIN
  FOR i IN 1 .. coalesce(cardinality(names), 0) LOOP
    IF totals[i] > dones[i] AND here = 0 THEN
      here := i;
    END IF;
    IF totals[i] > 0 THEN
      reached := reached + (ends[i] - start) * dones[i] / totals[i];
    ELSIF here = 0 THEN
      reached := reached + ends[i] - start;
    END IF;
    start := ends[i];
  END LOOP;
  IF here = 0 THEN
    here := greatest(coalesce(cardinality(names), 0), 1);
  END IF;
  RETURN jsonb_build_object(
    'percent', CASE status WHEN 'complete' THEN 100 WHEN 'queued' THEN 0 ELSE least(floor(reached), 99) END::int,
    'phase', CASE WHEN status IN ('queued', 'complete') THEN status ELSE coalesce(names[here], status) END,
    'docsComplete', coalesce(dones[here], 0),
    'docsTotal', coalesce(totals[here], 0),
    'message', message);
END
$$;

CREATE TABLE public.jobs (
    id uuid DEFAULT shoal.uuid7() NOT NULL,
    user_id uuid NOT NULL,
    type text NOT NULL,
    params shoal.job_params DEFAULT '{}'::jsonb NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    progress jsonb GENERATED ALWAYS AS (shoal.job_progress(status, phase_names, phase_ends, phase_total, phase_done, message)) STORED,
    result jsonb,
    error text,
    priority smallint DEFAULT 0 NOT NULL,
    unique_key text,
    message text DEFAULT ''::text NOT NULL,
    phase_names text[] DEFAULT '{processing}'::text[] NOT NULL,
    phase_ends real[] DEFAULT '{100}'::real[] NOT NULL,
    phase_total integer[] DEFAULT '{0}'::integer[] NOT NULL,
    phase_done integer[] DEFAULT '{0}'::integer[] NOT NULL,
    tasks_total integer DEFAULT 0 NOT NULL,
    tasks_open integer DEFAULT 0 NOT NULL,
    tasks_failed integer DEFAULT 0 NOT NULL,
    tasks_cancelled integer DEFAULT 0 NOT NULL,
    result_sequence integer,
    turn bigint DEFAULT 0 NOT NULL,
    turn_ends bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    aggregate_version bigint DEFAULT 1 NOT NULL,
    CONSTRAINT job_phases_match CHECK (((cardinality(phase_names) = cardinality(phase_ends)) AND (cardinality(phase_names) = cardinality(phase_total)) AND (cardinality(phase_names) = cardinality(phase_done)))),
    CONSTRAINT jobs_priority_check CHECK (((priority >= '-100'::integer) AND (priority <= 100))),
    CONSTRAINT jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'processing'::text, 'complete'::text, 'failed'::text, 'cancelled'::text]))),
    CONSTRAINT jobs_tasks_cancelled_check CHECK ((tasks_cancelled >= 0)),
    CONSTRAINT jobs_tasks_failed_check CHECK ((tasks_failed >= 0)),
    CONSTRAINT jobs_tasks_open_check CHECK ((tasks_open >= 0)),
    CONSTRAINT jobs_type_check CHECK ((type ~ '^[a-z][a-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT jobs_unique_key_check CHECK (((length(unique_key) >= 1) AND (length(unique_key) <= 255)))
);

CREATE FUNCTION shoal.ended_jobs(p_user_id uuid, p_statuses text[], p_type text, p_finished_before timestamp with time zone) RETURNS SETOF public.jobs
    LANGUAGE sql STABLE
    AS $$
  SELECT j.* FROM public.jobs j
   WHERE j.finished_at IS NOT NULL
     AND (p_user_id IS NULL OR j.user_id = p_user_id) AND (p_statuses IS NULL OR j.status = ANY (p_statuses))
     AND (p_type IS NULL OR j.type = p_type) AND (p_finished_before IS NULL OR j.finished_at < p_finished_before)
$$;

CREATE FUNCTION shoal.event_is_kept(p_event_type text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT NOT (starts_with(p_event_type, 'task.') OR p_event_type = 'job.started') $$;

CREATE FUNCTION shoal.event_is_wanted(p_event_type text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$
  SELECT EXISTS (SELECT FROM public.event_sink_t s WHERE shoal.event_matches(p_event_type, s.patterns))
$$;

CREATE FUNCTION shoal.event_matches(p_event_type text, p_patterns text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT p_event_type = ANY (p_patterns)
      OR EXISTS (SELECT FROM unnest(p_patterns) AS p
                  WHERE p = '*' AND NOT starts_with(p_event_type, 'task.')
                     OR right(p, 2) = '.*' AND starts_with(p_event_type, left(p, -1)))
$$;

CREATE FUNCTION shoal.fail_event(p_sink text, p_holder uuid, p_partition smallint, p_position bigint, p_event_id uuid, p_kind text, p_error text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_cursor public.consumer_offset_t;
  v_sink   public.event_sink_t;
  v_dead   boolean;
BEGIN
  SELECT k.* INTO v_cursor FROM public.consumer_offset_t k
   WHERE k.sink = p_sink AND k.partition = p_partition AND k.holder = p_holder FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'lost';
  END IF;
  SELECT s.* INTO v_sink FROM public.event_sink_t s WHERE s.name = p_sink;
  IF v_cursor.position < p_position - 1 THEN  -- it has come further: these are the first attempts at this one
    v_cursor.attempts := 0;
    v_cursor.failing_since := NULL;
  END IF;
  v_cursor.attempts := v_cursor.attempts + (p_kind <> 'away')::int;
  v_cursor.failing_since := coalesce(v_cursor.failing_since, clock_timestamp());
  v_dead := p_kind = 'refused'
    OR p_kind = 'failed' AND v_cursor.attempts >= v_sink.max_attempts
       AND (v_sink.kind IN ('consumer', 'jobs') OR v_cursor.failing_since < clock_timestamp() - interval '1 day'
            OR EXISTS (SELECT FROM public.consumer_offset_t k
                        WHERE k.sink = p_sink AND k.partition <> p_partition AND k.moved_at > v_cursor.failing_since));
  IF v_dead THEN
    INSERT INTO public.event_dead_letter_t AS d (sink, event_id, reason, attempts)
    VALUES (p_sink, p_event_id, left(p_error, 4000), v_cursor.attempts)
    ON CONFLICT (sink, event_id) DO UPDATE
      SET reason = excluded.reason, attempts = excluded.attempts, failed_at = clock_timestamp();
  END IF;
  UPDATE public.consumer_offset_t k
     SET position = greatest(k.position, p_position - (NOT v_dead)::int),
         attempts = CASE WHEN v_dead THEN 0 ELSE v_cursor.attempts END,
         failing_since = CASE WHEN NOT v_dead THEN v_cursor.failing_since END,
         retry_at = CASE WHEN NOT v_dead THEN clock_timestamp() + CASE p_kind
           WHEN 'away' THEN least(interval '0.5 s' + (clock_timestamp() - v_cursor.failing_since) / 2, interval '1 minute')
           ELSE least(shoal.backoff(1, v_cursor.attempts, random()), interval '5 minutes') END END,
         last_error = CASE WHEN NOT v_dead THEN left(p_error, 4000) END,
         moved_at = CASE WHEN k.position < p_position - 1 OR v_dead THEN clock_timestamp() ELSE k.moved_at END,
         holder = NULL, held_until = NULL
   WHERE k.sink = p_sink AND k.partition = p_partition;
  RETURN CASE WHEN v_dead THEN 'dead' ELSE 'retrying' END;
END
$$;

CREATE FUNCTION shoal.fail_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_errors text[], p_permanent boolean[], p_retry_after_s real[]) RETURNS TABLE(task_id uuid, verdict text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_failed uuid[];
  v_retrying uuid[];
BEGIN
  PERFORM shoal.lock_tasks_and_descendants(p_task_ids);
  WITH held AS (
    SELECT t.id, g.error, NOT coalesce(g.permanent, false) AND t.attempts < t.max_attempts AS again,
           coalesce(CASE WHEN g.retry_after_s <> 'NaN'
                         THEN make_interval(secs => least(greatest(g.retry_after_s, 0), 31536000)) END,
                    shoal.backoff(t.backoff_s, t.attempts, random())) AS pause
      FROM unnest(p_task_ids, p_claim_tokens, p_errors, p_permanent, p_retry_after_s)
           AS g(id, token, error, permanent, retry_after_s)
      JOIN public.job_tasks t ON t.id = g.id
     WHERE t.status = 'claimed' AND t.worker_id = p_worker_id
       AND (g.token IS NULL OR t.claim_token = g.token)
  ), ended AS (
    UPDATE public.job_tasks t
       SET status = CASE WHEN held.again THEN 'pending' ELSE 'failed' END,
           error = left(coalesce(held.error, ''), 16384),
           worker_id = NULL, claim_token = NULL, claimed_at = NULL,
           delayed = held.again,
           run_at = CASE WHEN held.again THEN clock_timestamp() + held.pause END,
           finished_at = CASE WHEN NOT held.again THEN clock_timestamp() END
      FROM held
     WHERE t.id = held.id
    RETURNING t.id, t.status
  )
  SELECT array_agg(id) FILTER (WHERE status = 'failed'), array_agg(id) FILTER (WHERE status = 'pending')
    INTO v_failed, v_retrying FROM ended;
  IF v_failed IS NOT NULL THEN
    PERFORM shoal.spread_failure(v_failed);
  END IF;
  DELETE FROM public.task_leases l WHERE l.task_id = ANY (v_failed || v_retrying);
  IF v_retrying IS NOT NULL THEN
    PERFORM pg_notify('shoal_tasks', '');  -- the clock of idle workers may have to ring earlier
  ELSE
    PERFORM shoal.wake_for_limits();
  END IF;
  RETURN QUERY
    SELECT id, CASE WHEN id = ANY (v_failed) THEN 'failed' WHEN id = ANY (v_retrying) THEN 'retrying'
                    ELSE 'lease_lost' END
      FROM unnest(p_task_ids) AS id;
END
$$;

CREATE FUNCTION shoal.find_event_work() RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$
  SELECT DISTINCT k.sink FROM public.consumer_offset_t k
    JOIN public.outbox_partition_t c ON c.partition = k.partition
   WHERE k.position < c.last_position
     AND (k.held_until IS NULL OR k.held_until < clock_timestamp())
     AND (k.retry_at IS NULL OR k.retry_at < clock_timestamp())
$$;

CREATE FUNCTION shoal.fire_schedules(p_instance_id text, p_elected_at timestamp with time zone, p_schedule_ids uuid[], p_versions bigint[], p_seen timestamp with time zone[], p_next_fires timestamp with time zone[], p_next_runs timestamp with time zone[], p_runs integer[], p_run_ids uuid[], p_fire_ts timestamp with time zone[], p_since timestamp with time zone[], OUT moved integer, OUT runs integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$  -- whatever the statistics say
#variable_conflict use_column
DECLARE
  v_ended uuid[];
BEGIN
  PERFORM FROM public.scheduler_lock_t l
    WHERE l.lock_id = 1 AND l.instance_id = p_instance_id AND l.elected_at = p_elected_at;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  WITH planned AS MATERIALIZED (
    SELECT * FROM unnest(p_schedule_ids, p_versions, p_seen, p_next_fires, p_next_runs, p_runs)
                  AS p(schedule_id, version, seen, next_fire, next_run, runs)
     ORDER BY p.schedule_id
  ), taken AS MATERIALIZED (  -- LATERAL, so that each is looked up and locked in this order
    SELECT l.schedule_id, p.next_fire, p.next_run, p.runs
      FROM planned p
      CROSS JOIN LATERAL (
        SELECT s.schedule_id FROM public.schedule_t s
         WHERE s.schedule_id = p.schedule_id AND s.active AND s.aggregate_version = p.version
           AND s.next_run_ts = p.seen
         FOR NO KEY UPDATE SKIP LOCKED) l
  ), done AS (
    UPDATE public.schedule_t s
       SET next_fire_ts = t.next_fire, next_run_ts = coalesce(t.next_run, s.next_run_ts), runs = s.runs + t.runs,
           active = t.next_run IS NOT NULL, ended_at = CASE WHEN t.next_run IS NULL THEN clock_timestamp() END
      FROM taken t WHERE s.schedule_id = t.schedule_id
    RETURNING s.schedule_id, s.schedule_name, s.host_id, s.event_topic, s.event_type, s.event_data, s.active
  ), run AS (
    INSERT INTO public.schedule_fires AS f (schedule_id, fire_ts, kind, event_id, since_ts)
    SELECT r.schedule_id, r.fire_ts, 'scheduled', shoal.run_event_id(r.schedule_id, r.fire_ts, 'scheduled'), r.since
      FROM unnest(p_run_ids, p_fire_ts, p_since) AS r(schedule_id, fire_ts, since)
     WHERE r.schedule_id IN (SELECT d.schedule_id FROM done d)
    RETURNING f.schedule_id, f.fire_ts, f.event_id
  ), told AS (
    SELECT shoal.append_events('schedule', array_agg(o.id), array_agg(o.type), array_agg(o.payload),
                               array_agg(o.host_id), NULL, array_agg(o.event_id), array_agg(o.topic)) AS events
      FROM (SELECT m.schedule_id::text AS id, m.event_type::text AS type, m.event_topic::text AS topic, m.host_id, r.event_id,
                   shoal.run_payload(m.schedule_id, m.schedule_name, r.fire_ts, 'scheduled', m.event_data) AS payload
              FROM run r JOIN done m ON m.schedule_id = r.schedule_id
             ORDER BY r.schedule_id, r.fire_ts) o
    HAVING count(*) > 0
  )
  SELECT count(*), (SELECT count(*) FROM run), array_agg(d.schedule_id) FILTER (WHERE NOT d.active)
    INTO moved, runs, v_ended
    FROM done d WHERE (SELECT coalesce(sum(t.events), 0) FROM told t) >= 0;  -- so that they are told
  IF v_ended IS NOT NULL THEN
    PERFORM shoal.tell_of_schedules(v_ended, 'schedule.ended');
  END IF;
END
$$;

CREATE FUNCTION shoal.first_jobs(p_job_ids uuid[], p_tasks integer[], p_at_most integer) RETURNS uuid[]
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
  SELECT array_agg(s.id) FROM (
    SELECT g.id, g.position, sum(g.tasks + 1) OVER (ORDER BY g.position) AS reached
      FROM unnest(p_job_ids, p_tasks) WITH ORDINALITY AS g(id, tasks, position)) s
   WHERE s.reached <= p_at_most OR s.position = 1
$$;

CREATE FUNCTION shoal.first_wrong_job(p_user_id uuid, p_jobs jsonb, p_on_conflict text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION shoal.forget_empty_limit(p_task_type text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  DELETE FROM public.task_limits l
   WHERE l.task_type = p_task_type AND l.paused_because IS NULL AND l.max_running IS NULL AND l.rate_per_s IS NULL;
  SELECT pg_notify('shoal_tasks', '')
$$;

CREATE TABLE public.consumer_offset_t (
    sink text NOT NULL,
    partition smallint NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    holder uuid,
    held_until timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    retry_at timestamp with time zone,
    last_error text,
    moved_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.05');

CREATE FUNCTION shoal.free_cursors(p_sink text) RETURNS SETOF public.consumer_offset_t
    LANGUAGE sql STABLE
    AS $$
  SELECT k.* FROM public.consumer_offset_t k
    JOIN public.outbox_partition_t c ON c.partition = k.partition
   WHERE k.sink = p_sink AND k.position < c.last_position
     AND (k.held_until IS NULL OR k.held_until < clock_timestamp())
     AND (k.retry_at IS NULL OR k.retry_at < clock_timestamp())
$$;

CREATE FUNCTION shoal.graph_entries(p_job_ids uuid[], p_graphs jsonb[]) RETURNS TABLE(nr bigint, job_id uuid, task jsonb, name text, is_result boolean, size bigint, preceding bigint, fan_in bigint, fan_out bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET enable_nestloop TO 'off'
    SET jit TO 'off'
    AS $$
  WITH entry AS MATERIALIZED (
    SELECT g.nr, g.job_id, e.position, e.task, e.task ->> 'name' AS name,
           e.task -> 'name' = g.graph -> 'result' AS is_result,
           CASE WHEN e.task ? 'each' THEN jsonb_array_length(e.task -> 'each') ELSE 1 END AS size
      FROM unnest(p_job_ids, p_graphs) WITH ORDINALITY AS g(job_id, graph, nr)
     CROSS JOIN LATERAL jsonb_array_elements(g.graph -> 'tasks') WITH ORDINALITY AS e(task, position)
  ), need AS MATERIALIZED (
    SELECT t.nr, t.name, t.size, n.name AS needed
      FROM entry t CROSS JOIN LATERAL jsonb_array_elements_text(nullif(t.task -> 'needs', 'null')) AS n(name)
  )
  SELECT e.nr, e.job_id, e.task, e.name, e.is_result, e.size,
         coalesce(sum(e.size) OVER (PARTITION BY e.nr ORDER BY e.position
                                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint,
         coalesce(i.n, 0), coalesce(o.n, 0)
    FROM entry e
    LEFT JOIN (SELECT n.nr, n.name, sum(needed.size)::bigint AS n FROM need n
                 JOIN entry needed ON needed.nr = n.nr AND needed.name = n.needed
                GROUP BY n.nr, n.name) i ON i.nr = e.nr AND i.name = e.name
    LEFT JOIN (SELECT n.nr, n.needed, sum(n.size)::bigint AS n FROM need n
                GROUP BY n.nr, n.needed) o ON o.nr = e.nr AND o.needed = e.name
$$;

CREATE FUNCTION shoal.heal_event_order() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
  v_healed int;
BEGIN
  UPDATE public.event_store_t e SET tx = '3'::xid8 WHERE e.tx > pg_current_xact_id();
  GET DIAGNOSTICS v_healed = ROW_COUNT;
  RETURN v_healed;
END
$$;

CREATE FUNCTION shoal.heartbeat_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_progress real[], p_messages text[]) RETURNS SETOF uuid
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  INSERT INTO public.task_leases AS l (task_id, claim_token, heartbeat_at, progress, message)
  SELECT t.id, t.claim_token, clock_timestamp(),
         least(greatest(coalesce(nullif(g.progress, 'NaN'), 0), 0), 1), left(coalesce(g.message, ''), 500)
    FROM unnest(p_task_ids, p_claim_tokens, p_progress, p_messages) AS g(id, token, progress, message)
    JOIN public.job_tasks t ON t.id = g.id
   WHERE t.status = 'claimed' AND t.worker_id = p_worker_id
     AND (g.token IS NULL OR t.claim_token = g.token)
   ORDER BY t.id FOR KEY SHARE OF t  -- tasks before leases, as in a completion
  ON CONFLICT (task_id) DO UPDATE
    SET claim_token = excluded.claim_token, heartbeat_at = excluded.heartbeat_at,
        progress = excluded.progress, message = excluded.message
  RETURNING l.task_id
$$;

CREATE FUNCTION shoal.insert_graphs(p_job_ids uuid[], p_graphs jsonb[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
DECLARE
  v_wrong    text := shoal.wrong_in_graphs(p_job_ids, p_graphs);
  v_id       text := shoal.uuid7()::text;
  v_id_start text := left(v_id, 24);
  v_id_end   bigint := ('x' || right(v_id, 12))::bit(48)::bigint / 2;  -- half of it: room to count up
BEGIN
  IF v_wrong IS NOT NULL THEN
    PERFORM shoal.refuse('SH400', 'invalid_graph', v_wrong);
  END IF;

  -- Jobs of one user that begin together take their turns one after the other.
  WITH made AS MATERIALIZED (
    SELECT e.nr, e.job_id, sum(e.size)::bigint AS size,
           min(e.preceding + 1) FILTER (WHERE e.is_result) AS result
      FROM shoal.graph_entries(p_job_ids, p_graphs) e GROUP BY e.nr, e.job_id
  ), placed AS MATERIALIZED (
    SELECT m.job_id, m.size, m.result, j.user_id, j.priority,
           row_number() OVER turn AS place, sum(m.size) OVER turn - m.size AS before
      FROM made m JOIN public.jobs j ON j.id = m.job_id
    WINDOW turn AS (PARTITION BY j.user_id, j.priority ORDER BY m.nr ROWS UNBOUNDED PRECEDING)
  ), turns AS MATERIALIZED (  -- one look for each user and priority: it sees none of the rows changed here
    SELECT p.user_id, p.priority, shoal.next_turn(p.job_id, p.user_id, p.priority) AS begins
      FROM placed p WHERE p.place = 1
  )
  UPDATE public.jobs j
     SET turn = t.begins, turn_ends = t.begins + shoal.place_in_turn(t.size), result_sequence = t.result
    FROM (SELECT p.job_id, p.size, p.result, u.begins + shoal.place_in_turn(p.before::bigint) AS begins
            FROM placed p JOIN turns u ON u.user_id = p.user_id AND u.priority = p.priority) t
   WHERE j.id = t.job_id;

  -- What an entry says is read once, and its tasks are numbered: the ids follow each other from a random one.
  INSERT INTO public.job_tasks (id, job_id, name, task_type, executor, sequence, phase, input, max_attempts,
    backoff_s, timeout_s, waiting_on, fan_in, fan_out, order_key)
  WITH entry AS MATERIALIZED (
    SELECT e.nr, e.job_id, e.name, e.preceding, e.fan_in, e.fan_out, e.task -> 'each' AS each,
           nullif(e.task -> 'input', 'null') AS input, e.task ->> 'task_type' AS task_type,
           coalesce(e.task ->> 'executor', 'worker') AS executor,
           coalesce(array_position(j.phase_names, e.task ->> 'phase'), 2) AS phase,
           coalesce((e.task ->> 'max_attempts')::int, 3) AS max_attempts,
           coalesce((e.task ->> 'backoff_s')::real, 5) AS backoff_s, (e.task ->> 'timeout_s')::real AS timeout_s,
           j.turn - (j.priority + coalesce((e.task ->> 'priority')::int, 0)) * 60000000::bigint AS turn
      FROM shoal.graph_entries(p_job_ids, p_graphs) e
      JOIN public.jobs j ON j.id = e.job_id
  )
  SELECT (v_id_start || lpad(to_hex(v_id_end + row_number() OVER (ORDER BY e.nr, e.preceding, i.number)), 12, '0'))::uuid,
         e.job_id, CASE WHEN i.number IS NULL THEN e.name ELSE e.name || '-' || i.number END,
         e.task_type, e.executor, e.preceding + coalesce(i.number, 1), e.phase, coalesce(i.input, '{}'),
         e.max_attempts, e.backoff_s, e.timeout_s, e.fan_in, e.fan_in, e.fan_out,
         e.turn + shoal.place_in_turn(e.preceding + coalesce(i.number, 1))
    FROM entry e
   CROSS JOIN LATERAL (
      SELECT NULL::bigint AS number, e.input WHERE e.each IS NULL
      UNION ALL
      SELECT one.number, nullif(one.input, 'null')
        FROM jsonb_array_elements(e.each) WITH ORDINALITY AS one(input, number)
    ) i;

  IF NOT EXISTS (SELECT FROM unnest(p_graphs) AS g(graph)
                  WHERE jsonb_path_exists(g.graph, '$.tasks[*].needs[*]')) THEN
    RETURN;
  END IF;
  -- By the place of each single task: a range of places would be compared with every task of its job.
  INSERT INTO public.task_edges (needs, task_id, on_failure)
  SELECT n.id, t.id, coalesce(e.task ->> 'on_failure', 'fail')
    FROM shoal.graph_entries(p_job_ids, p_graphs) e
   CROSS JOIN LATERAL jsonb_array_elements_text(nullif(e.task -> 'needs', 'null')) AS need(name)
    JOIN shoal.graph_entries(p_job_ids, p_graphs) f ON f.nr = e.nr AND f.name = need.name
   CROSS JOIN LATERAL generate_series(e.preceding + 1, e.preceding + e.size) AS its(place)
   CROSS JOIN LATERAL generate_series(f.preceding + 1, f.preceding + f.size) AS needed(place)
    JOIN public.job_tasks t ON t.job_id = e.job_id AND t.sequence = its.place
    JOIN public.job_tasks n ON n.job_id = f.job_id AND n.sequence = needed.place
   WHERE e.fan_in > 0;
END
$_$;

CREATE FUNCTION shoal.insert_jobs(p_user_id uuid, p_jobs jsonb, p_on_conflict text) RETURNS uuid[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
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
$_$;

CREATE FUNCTION shoal.insert_plan_tasks(p_job_ids uuid[], p_run_at timestamp with time zone[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  INSERT INTO public.job_tasks (job_id, name, task_type, phase, order_key, delayed, run_at)
  SELECT j.id, 'plan', 'plan:' || j.type, 1,
         shoal.microseconds(greatest(clock_timestamp(), g.run_at)) - j.priority * 60000000::bigint,
         coalesce(g.run_at > clock_timestamp(), false), g.run_at
    FROM unnest(p_job_ids, p_run_at) AS g(job_id, run_at)
    JOIN public.jobs j ON j.id = g.job_id
$$;

CREATE FUNCTION shoal.is_service() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
  SELECT auth.uid() IS NULL
     AND pg_has_role(coalesce(nullif(current_setting('role'), 'none'), session_user), 'service_role', 'MEMBER')
$$;

CREATE FUNCTION shoal.job_event_payload(p_job public.jobs) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
  SELECT jsonb_strip_nulls(jsonb_build_object(
    'v', 1, 'jobId', p_job.id, 'jobType', p_job.type, 'status', p_job.status, 'uniqueKey', p_job.unique_key,
    'error', left(p_job.error, 2000)))
$$;

CREATE FUNCTION shoal.job_of_task(p_task_id uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_job uuid := (SELECT t.job_id FROM public.job_tasks t JOIN public.jobs j ON j.id = t.job_id
                  WHERE t.id = p_task_id AND (shoal.is_service() OR j.user_id = auth.uid()));
BEGIN
  IF v_job IS NULL THEN
    PERFORM shoal.refuse('SH404', 'task_not_found', format('There is no task %s.', p_task_id));
  END IF;
  RETURN v_job;
END
$$;

CREATE FUNCTION shoal.job_owner(p_user_id uuid) RETURNS uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION shoal.lock_limits(p_task_types text[]) RETURNS integer[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM FROM public.task_limits l WHERE l.task_type = ANY (p_task_types) ORDER BY l.task_type FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  RETURN ARRAY(
    SELECT CASE WHEN l.task_type IS NOT NULL THEN shoal.room_within(l) END
      FROM unnest(p_task_types) WITH ORDINALITY AS wanted(task_type, position)
      LEFT JOIN public.task_limits l ON l.task_type = wanted.task_type
     ORDER BY wanted.position);
END
$$;

CREATE FUNCTION shoal.lock_own_node(p_node_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  PERFORM FROM public.nodes n
    WHERE n.id = p_node_id AND n.revoked_at IS NULL AND (shoal.is_service() OR n.user_id = auth.uid()) FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM shoal.refuse('SH404', 'node_not_found', format('There is no node %s.', p_node_id),
      '''shoal node list'' shows the nodes you own.');
  END IF;
END
$$;

CREATE TABLE public.schedule_t (
    schedule_id uuid DEFAULT shoal.uuid7() NOT NULL,
    host_id uuid NOT NULL,
    schedule_name shoal.schedule_name NOT NULL,
    frequency_unit shoal.frequency_unit NOT NULL,
    frequency_time integer DEFAULT 1 NOT NULL,
    start_ts shoal.schedule_moment DEFAULT clock_timestamp() NOT NULL,
    next_run_ts timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    event_topic shoal.event_name DEFAULT 'user'::text NOT NULL,
    event_type shoal.scheduled_event NOT NULL,
    event_data shoal.schedule_data DEFAULT '{}'::text NOT NULL,
    aggregate_version bigint DEFAULT 1 NOT NULL,
    active boolean DEFAULT true NOT NULL,
    cron character varying(255),
    zone character varying(64) DEFAULT 'UTC'::character varying NOT NULL,
    end_ts shoal.schedule_moment,
    max_runs bigint,
    runs bigint DEFAULT 0 NOT NULL,
    jitter_s real DEFAULT 0 NOT NULL,
    missed_runs text DEFAULT 'last'::text NOT NULL,
    missed_limit integer DEFAULT 100 NOT NULL,
    missed_window_s real,
    overlap text DEFAULT 'allow'::text NOT NULL,
    next_fire_ts timestamp with time zone,
    paused_at timestamp with time zone,
    pause_reason text,
    parked_at timestamp with time zone,
    error shoal.error_text,
    ended_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT cron_is_the_frequency CHECK ((((frequency_unit)::text = 'CRON'::text) = (cron IS NOT NULL))),
    CONSTRAINT invalid_frequency CHECK ((frequency_time > 0)),
    CONSTRAINT overlap_needs_job CHECK (((overlap = 'allow'::text) OR ((event_type)::text = 'job.start'::text))),
    CONSTRAINT schedule_ends_before_start CHECK (((end_ts)::timestamp with time zone >= (start_ts)::timestamp with time zone)),
    CONSTRAINT schedule_t_jitter_s_check CHECK (((jitter_s >= (0)::double precision) AND (jitter_s <= (86400)::double precision))),
    CONSTRAINT schedule_t_max_runs_check CHECK ((max_runs > 0)),
    CONSTRAINT schedule_t_missed_limit_check CHECK (((missed_limit >= 1) AND (missed_limit <= 1000))),
    CONSTRAINT schedule_t_missed_runs_check CHECK ((missed_runs = ANY (ARRAY['skip'::text, 'last'::text, 'all'::text]))),
    CONSTRAINT schedule_t_missed_window_s_check CHECK (((missed_window_s > (0)::double precision) AND (missed_window_s <= (315360000)::double precision))),
    CONSTRAINT schedule_t_overlap_check CHECK ((overlap = ANY (ARRAY['allow'::text, 'skip'::text, 'queue'::text, 'cancel'::text]))),
    CONSTRAINT schedule_t_pause_reason_check CHECK (((length(pause_reason) >= 1) AND (length(pause_reason) <= 1000)))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.05');

CREATE FUNCTION shoal.lock_schedule(p_schedule_id uuid) RETURNS public.schedule_t
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_found public.schedule_t;
BEGIN
  SELECT * INTO v_found FROM public.schedule_t s
   WHERE s.schedule_id = p_schedule_id AND (shoal.is_service() OR s.host_id = auth.uid())
   FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    PERFORM shoal.refuse('SH404', 'schedule_not_found', format('There is no schedule %s.', p_schedule_id),
      '''shoal schedule list'' shows the schedules you can see.');
  END IF;
  RETURN v_found;
END
$$;

CREATE FUNCTION shoal.lock_tasks(p_task_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_waiting uuid[] := ARRAY(SELECT e.task_id FROM public.task_edges e WHERE e.needs = ANY (p_task_ids));
BEGIN
  PERFORM FROM public.job_tasks t WHERE t.id = ANY (p_task_ids || v_waiting) ORDER BY t.id FOR UPDATE;
END
$$;

CREATE FUNCTION shoal.lock_tasks_and_descendants(p_task_ids uuid[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  WITH RECURSIVE below(id) AS (
    SELECT unnest(p_task_ids)
    UNION SELECT e.task_id FROM below JOIN public.task_edges e ON e.needs = below.id
  )
  SELECT FROM public.job_tasks t WHERE t.id IN (SELECT id FROM below) ORDER BY t.id FOR UPDATE
$$;

CREATE FUNCTION shoal.microseconds(p_moment timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$SELECT (extract(epoch FROM p_moment) * 1000000)::bigint$$;

CREATE FUNCTION shoal.next_due_s(p_task_types text[]) RETURNS double precision
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  SELECT greatest(min(next.due_s), 0)::double precision
    FROM (
      SELECT extract(epoch FROM min(t.run_at) - clock_timestamp()) AS due_s FROM public.job_tasks t
       WHERE t.status = 'pending' AND t.delayed AND t.run_at < 'infinity'
      UNION ALL
      SELECT (1 - shoal.tokens_of(l)) / l.rate_per_s FROM public.task_limits l
       WHERE l.task_type = ANY (p_task_types) AND l.paused_because IS NULL AND shoal.tokens_of(l) < 1
         AND EXISTS (SELECT FROM public.job_tasks t
                      WHERE t.task_type = l.task_type AND t.status = 'pending' AND t.waiting_on = 0 AND NOT t.delayed)
    ) next
   WHERE next.due_s IS NOT NULL
  HAVING count(*) > 0  -- greatest() passes over nulls: no row, no answer
$$;

CREATE FUNCTION shoal.next_turn(p_job_id uuid, p_user_id uuid, p_priority integer) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
  SELECT least(greatest(now_us, (
           SELECT j.turn_ends FROM public.jobs j
            WHERE j.user_id = p_user_id AND j.status IN ('queued', 'processing')
              AND j.priority >= p_priority AND j.id <> p_job_id
            ORDER BY j.turn_ends DESC LIMIT 1)), now_us + 21600000000)
    FROM (SELECT shoal.microseconds(clock_timestamp()) AS now_us) n
$$;

CREATE FUNCTION shoal.node_event(p_node_id uuid, p_type text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  SELECT shoal.append_events('node', ARRAY[n.id::text], ARRAY[p_type],
                             ARRAY[jsonb_build_object('node_id', n.id, 'name', n.name)], ARRAY[n.user_id])
    FROM public.nodes n WHERE n.id = p_node_id
$$;

CREATE FUNCTION shoal.order_outbox(p_at_most integer DEFAULT 2000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
  v_partitions smallint[];
  v_ordered    int;
BEGIN
  v_partitions := ARRAY(
    SELECT c.partition FROM public.outbox_partition_t c
     WHERE EXISTS (SELECT FROM public.outbox_message_t o WHERE o.partition = c.partition AND o.position IS NULL)
     ORDER BY c.partition FOR NO KEY UPDATE OF c SKIP LOCKED);
  IF cardinality(v_partitions) = 0 THEN
    RETURN 0;
  END IF;
  -- A statement of its own: it sees what was committed while the locks were taken.
  WITH waiting AS MATERIALIZED (
    SELECT w.id, p.partition, row_number() OVER (PARTITION BY p.partition ORDER BY w.id) AS nr
      FROM unnest(v_partitions) AS p(partition)
     CROSS JOIN LATERAL (
       SELECT o.id FROM public.outbox_message_t o
        WHERE o.partition = p.partition AND o.position IS NULL ORDER BY o.id LIMIT p_at_most) w
  ), placed AS (
    UPDATE public.outbox_message_t o SET position = c.last_position + w.nr
      FROM waiting w JOIN public.outbox_partition_t c ON c.partition = w.partition
     WHERE o.id = w.id
    RETURNING o.partition
  ), moved AS (
    UPDATE public.outbox_partition_t c SET last_position = c.last_position + n.n
      FROM (SELECT p.partition, count(*) AS n FROM placed p GROUP BY p.partition) n
     WHERE c.partition = n.partition
    RETURNING n.n
  )
  SELECT coalesce(sum(m.n), 0) INTO v_ordered FROM moved m;
  RETURN v_ordered;
END
$$;

CREATE FUNCTION shoal.park_schedule(p_schedule_id uuid, p_version bigint, p_error text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  UPDATE public.schedule_t s
     SET active = false, parked_at = clock_timestamp(), error = left(p_error, 16384),
         aggregate_version = s.aggregate_version + 1, updated_at = clock_timestamp()
   WHERE s.schedule_id = p_schedule_id AND s.aggregate_version = p_version AND s.active;
  IF FOUND THEN
    PERFORM shoal.tell_of_schedules(ARRAY[p_schedule_id], 'schedule.parked');
    RETURN true;
  END IF;
  RETURN false;
END
$$;

CREATE FUNCTION shoal.partition_of(p_aggregate_id text) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$SELECT (pg_catalog.hashtext(p_aggregate_id) & 15)::smallint$$;

CREATE FUNCTION shoal.phases_of_type(p_type text, OUT names text[], OUT ends real[], OUT zeros integer[]) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION shoal.place_in_turn(p_position bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$SELECT least(p_position, 21600) * 1000000 + p_position$$;

CREATE FUNCTION shoal.plan_jobs(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_graphs jsonb[]) RETURNS TABLE(task_id uuid, verdict text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
  v_held   uuid[];
  v_jobs   uuid[];
  v_graphs jsonb[];
BEGIN
  PERFORM FROM public.job_tasks t WHERE t.id = ANY (p_task_ids) ORDER BY t.id FOR UPDATE;
  SELECT array_agg(t.id ORDER BY g.nr), array_agg(t.job_id ORDER BY g.nr), array_agg(g.graph ORDER BY g.nr)
    INTO v_held, v_jobs, v_graphs
    FROM unnest(p_task_ids, p_claim_tokens, p_graphs) WITH ORDINALITY AS g(id, token, graph, nr)
    JOIN public.job_tasks t ON t.id = g.id
   WHERE t.status = 'claimed' AND t.worker_id = p_worker_id AND t.claim_token = g.token;
  IF v_held IS NOT NULL THEN
    PERFORM FROM public.jobs j WHERE j.id = ANY (v_jobs) ORDER BY j.id FOR NO KEY UPDATE;
    PERFORM shoal.insert_graphs(v_jobs, v_graphs);
    UPDATE public.job_tasks t SET status = 'complete', finished_at = clock_timestamp()
     WHERE t.id = ANY (v_held);
    DELETE FROM public.task_leases l WHERE l.task_id = ANY (v_held);
    PERFORM pg_notify('shoal_tasks', '');
  END IF;
  RETURN QUERY
    SELECT g.id, CASE WHEN t.status = 'complete' AND t.worker_id = p_worker_id AND t.claim_token = g.token
                      THEN 'already_completed' ELSE 'lease_lost' END
      FROM unnest(p_task_ids, p_claim_tokens) AS g(id, token)
      LEFT JOIN public.job_tasks t ON t.id = g.id
     WHERE NOT g.id = ANY (coalesce(v_held, '{}'));
END
$$;

CREATE FUNCTION shoal.promote_due_tasks() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_promoted int;
BEGIN
  IF NOT EXISTS (SELECT FROM public.job_tasks t
                  WHERE t.status = 'pending' AND t.delayed AND t.run_at <= clock_timestamp()) THEN
    RETURN 0;
  END IF;
  WITH due AS MATERIALIZED (
    SELECT t.id FROM public.job_tasks t
     WHERE t.status = 'pending' AND t.delayed AND t.run_at <= clock_timestamp()
     ORDER BY t.run_at LIMIT 1000 FOR UPDATE SKIP LOCKED
  )
  UPDATE public.job_tasks t SET delayed = false FROM due WHERE t.id = due.id;
  GET DIAGNOSTICS v_promoted = ROW_COUNT;
  RETURN v_promoted;
END
$$;

CREATE FUNCTION shoal.redeem_discord_code(p_code_hash bytea, p_discord_id text, p_discord_name text) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
DECLARE
  v_user uuid;
BEGIN
  DELETE FROM public.discord_link_codes c
    WHERE c.code_hash = p_code_hash AND c.expires_at > clock_timestamp() RETURNING c.user_id INTO v_user;
  IF v_user IS NULL THEN
    RETURN NULL;
  END IF;
  -- Two codes used at once may concern the same account; linking is rare, so one waits for the other.
  LOCK TABLE public.discord_links IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM public.discord_links l WHERE l.discord_id = p_discord_id OR l.user_id = v_user;
  INSERT INTO public.discord_links (discord_id, user_id, discord_name) VALUES (p_discord_id, v_user, p_discord_name);
  RETURN v_user;
END
$$;

CREATE FUNCTION shoal.refuse(p_kind text, p_code text, p_message text, p_hint text DEFAULT ''::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = p_kind, MESSAGE = p_message, DETAIL = p_code, HINT = p_hint;
END
$$;

CREATE FUNCTION shoal.register_consumer(p_name text, p_patterns text[], p_max_attempts integer) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$ SELECT shoal.add_sink(p_name, 'consumer', p_patterns, p_max_attempts => p_max_attempts) $$;

CREATE FUNCTION shoal.register_job_type(p_type text, p_version text, p_params_schema jsonb, p_phases jsonb) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  INSERT INTO public.job_types AS t (type, version, params_schema, phases)
  VALUES (p_type, p_version, p_params_schema, p_phases)
  ON CONFLICT (type) DO UPDATE
    SET version = excluded.version, params_schema = excluded.params_schema, phases = excluded.phases,
        registered_at = clock_timestamp()
    WHERE (t.version, t.params_schema, t.phases)
          IS DISTINCT FROM (excluded.version, excluded.params_schema, excluded.phases)
$$;

CREATE FUNCTION shoal.release_cursors(p_sink text, p_holder uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  UPDATE public.consumer_offset_t k SET holder = NULL, held_until = NULL
   WHERE k.sink = p_sink AND k.holder = p_holder
$$;

CREATE FUNCTION shoal.release_dependants(p_task_ids uuid[], p_failed boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  UPDATE public.job_tasks t
     SET waiting_on = t.waiting_on - e.n
    FROM (SELECT task_id, count(*)::int AS n FROM public.task_edges
           WHERE needs = ANY (p_task_ids) AND (NOT p_failed OR on_failure = 'ignore')
           GROUP BY task_id) e
   WHERE t.id = e.task_id AND t.status IN ('pending', 'claimed');
  IF FOUND THEN
    PERFORM pg_notify('shoal_tasks', '');
  END IF;
END
$$;

CREATE FUNCTION shoal.release_queued_runs(p_at_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_schedule public.schedule_t;
  v_run      public.schedule_fires;
  v_started  int := 0;
BEGIN
  FOR v_schedule IN
    SELECT s.* FROM public.schedule_t s
     WHERE s.schedule_id IN (SELECT DISTINCT f.schedule_id FROM public.schedule_fires f WHERE f.outcome = 'queued')
       AND NOT EXISTS (SELECT FROM public.jobs j
                        WHERE j.user_id = s.host_id AND j.type = s.event_data::jsonb ->> 'type'
                          AND j.unique_key = 'schedule:' || s.schedule_id AND j.status IN ('queued', 'processing'))
     ORDER BY s.schedule_id LIMIT p_at_most FOR NO KEY UPDATE OF s SKIP LOCKED
  LOOP
    SELECT * INTO v_run FROM public.schedule_fires f
     WHERE f.schedule_id = v_schedule.schedule_id AND f.outcome = 'queued'
     ORDER BY f.fire_ts, f.kind LIMIT 1 FOR NO KEY UPDATE;
    IF FOUND AND shoal.start_job_of_run(v_schedule, v_run) IS NOT NULL THEN
      v_started := v_started + 1;
    END IF;
  END LOOP;
  RETURN v_started;
END
$$;

CREATE FUNCTION shoal.release_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_released uuid[];
BEGIN
  PERFORM FROM public.job_tasks t WHERE t.id = ANY (p_task_ids) ORDER BY t.id FOR UPDATE;
  WITH released AS (
    UPDATE public.job_tasks t
       SET status = 'pending', worker_id = NULL, claim_token = NULL, claimed_at = NULL,
           attempts = t.attempts - 1
      FROM unnest(p_task_ids, p_claim_tokens) AS g(id, token)
     WHERE t.id = g.id AND t.status = 'claimed' AND t.worker_id = p_worker_id AND t.claim_token = g.token
    RETURNING t.id
  )
  SELECT array_agg(id) INTO v_released FROM released;
  IF v_released IS NOT NULL THEN
    DELETE FROM public.task_leases l WHERE l.task_id = ANY (v_released);
    PERFORM pg_notify('shoal_tasks', '');
  END IF;
  RETURN coalesce(cardinality(v_released), 0);
END
$$;

CREATE FUNCTION shoal.remember_deleted_jobs() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  INSERT INTO shoal.deleted_jobs (job_id, user_id) SELECT r.id, r.user_id FROM removed r ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;

CREATE FUNCTION shoal.renew_scheduler(p_instance_id text, p_elected_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  UPDATE public.scheduler_lock_t l SET last_heartbeat = clock_timestamp()
   WHERE l.lock_id = 1 AND l.instance_id = p_instance_id AND l.elected_at = p_elected_at;
  RETURN FOUND;
END
$$;

CREATE FUNCTION shoal.require_own_sink(p_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.event_sink_t s
                  WHERE s.name = p_name AND (shoal.is_service() OR s.user_id = auth.uid())) THEN
    PERFORM shoal.refuse('SH404', 'sink_not_found', format('There is no sink %s.', p_name),
      'shoal events sinks lists them.');
  END IF;
END
$$;

CREATE FUNCTION shoal.require_visible_job(p_job_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.jobs j
                  WHERE j.id = p_job_id AND (shoal.is_service() OR j.user_id = auth.uid())) THEN
    PERFORM shoal.refuse('SH404', 'job_not_found', format('There is no job %s.', p_job_id));
  END IF;
END
$$;

CREATE FUNCTION shoal.resign_scheduler(p_instance_id text, p_elected_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  UPDATE public.scheduler_lock_t l SET last_heartbeat = '-infinity'
   WHERE l.lock_id = 1 AND l.instance_id = p_instance_id AND l.elected_at = p_elected_at;
  IF FOUND THEN
    PERFORM pg_notify('shoal_scheduler', '');
  END IF;
END
$$;

CREATE FUNCTION shoal.retry_tasks(p_job_id uuid, p_task_ids uuid[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_again uuid[];
  v_stuck uuid[];
  v_later bigint;
BEGIN
  PERFORM shoal.lock_tasks(p_task_ids);
  PERFORM FROM public.jobs j WHERE j.id = p_job_id FOR NO KEY UPDATE;
  v_again := ARRAY(SELECT t.id FROM public.job_tasks t
                    WHERE t.id = ANY (p_task_ids) AND t.status IN ('failed', 'cancelled'));
  LOOP
    v_stuck := ARRAY(SELECT e.task_id FROM public.task_edges e JOIN public.job_tasks n ON n.id = e.needs
                      WHERE e.task_id = ANY (v_again) AND e.on_failure <> 'ignore'
                        AND n.status IN ('failed', 'cancelled') AND n.id <> ALL (v_again));
    EXIT WHEN cardinality(v_stuck) = 0;
    v_again := ARRAY(SELECT unnest(v_again) EXCEPT SELECT unnest(v_stuck));
  END LOOP;
  IF cardinality(v_again) = 0 THEN
    RETURN 0;
  END IF;
  BEGIN
    -- Its tasks keep their order, in a turn of their own that begins now.
    UPDATE public.jobs j
       SET status = 'processing', error = NULL, result = NULL, finished_at = NULL,
           turn = n.turn, turn_ends = n.turn + shoal.place_in_turn(cardinality(v_again))
      FROM (SELECT o.turn AS old_turn, shoal.next_turn(o.id, o.user_id, o.priority) AS turn
              FROM public.jobs o WHERE o.id = p_job_id) n
     WHERE j.id = p_job_id
    RETURNING n.turn - n.old_turn INTO v_later;
  EXCEPTION WHEN unique_violation THEN
    PERFORM shoal.refuse('SH409', 'job_exists', 'Another job with the same unique key is alive.',
      'Wait for it or cancel it, then try again.');
  END;
  UPDATE public.job_tasks t
     SET status = 'pending', attempts = 0, worker_id = NULL, claim_token = NULL, claimed_at = NULL,
         finished_at = NULL, delayed = false, run_at = NULL,
         order_key = t.order_key + v_later,
         waiting_on = (SELECT count(*) FROM public.task_edges e JOIN public.job_tasks n ON n.id = e.needs
                        WHERE e.task_id = t.id AND n.status <> 'complete'
                          AND (n.id = ANY (v_again) OR n.status IN ('pending', 'claimed')
                               OR e.on_failure <> 'ignore'))
   WHERE t.id = ANY (v_again);
  UPDATE public.job_tasks t SET waiting_on = t.waiting_on + e.n
    FROM (SELECT task_id, count(*)::int AS n FROM public.task_edges
           WHERE needs = ANY (v_again) AND task_id <> ALL (v_again) GROUP BY task_id) e
   WHERE t.id = e.task_id AND t.status IN ('pending', 'claimed');
  PERFORM pg_notify('shoal_tasks', '');
  RETURN cardinality(v_again);
END
$$;

CREATE TABLE public.task_limits (
    task_type shoal.type_name NOT NULL,
    paused_because text,
    max_running integer,
    rate_per_s double precision,
    burst integer DEFAULT 1 NOT NULL,
    tokens double precision DEFAULT 1 NOT NULL,
    counted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT task_limits_burst_check CHECK (((burst >= 1) AND (burst <= 1000000))),
    CONSTRAINT task_limits_max_running_check CHECK ((max_running >= 1)),
    CONSTRAINT task_limits_paused_because_check CHECK (((length(paused_because) >= 1) AND (length(paused_because) <= 1000))),
    CONSTRAINT task_limits_rate_per_s_check CHECK (((rate_per_s > (0)::double precision) AND (rate_per_s <= (1000000)::double precision)))
);

CREATE FUNCTION shoal.room_within(p_limit public.task_limits) RETURNS integer
    LANGUAGE sql
    SET search_path TO ''
    AS $$
  SELECT CASE WHEN p_limit.paused_because IS NOT NULL THEN 0 ELSE least(
    CASE WHEN p_limit.max_running IS NOT NULL THEN greatest(p_limit.max_running - (
      SELECT count(*) FROM public.job_tasks t
       WHERE t.task_type = p_limit.task_type AND t.status = 'claimed'), 0) END,
    CASE WHEN p_limit.rate_per_s IS NOT NULL THEN floor(shoal.tokens_of(p_limit)) END) END::int
$$;

CREATE FUNCTION shoal.run_event_id(p_schedule_id uuid, p_fire_ts timestamp with time zone, p_kind text) RETURNS uuid
    LANGUAGE sql STABLE
    AS $$
  SELECT pg_catalog.overlay(pg_catalog.overlay(pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(
           pg_catalog.uuid_send(p_schedule_id) || pg_catalog.int8send(shoal.microseconds(p_fire_ts))
           || pg_catalog.convert_to(p_kind, 'UTF8')), 1, 16), 'hex'), '8', 13), '8', 17)::pg_catalog.uuid
$$;

CREATE FUNCTION shoal.run_payload(p_schedule_id uuid, p_name text, p_fire_ts timestamp with time zone, p_kind text, p_data text) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
  SELECT pg_catalog.jsonb_build_object(
    'v', 1, 'scheduleId', p_schedule_id, 'scheduleName', p_name, 'kind', p_kind,
    'fireTs', pg_catalog.to_char(p_fire_ts AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'data', p_data::pg_catalog.jsonb)
$$;

CREATE FUNCTION shoal.schedule_host(p_host_id uuid) RETURNS uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
DECLARE
  v_host uuid := coalesce(p_host_id, auth.uid());
BEGIN
  IF v_host IS NULL THEN
    PERFORM shoal.refuse('SH400', 'schedule_owner_missing', 'The schedule has no owner.',
      'A service names the user (userId, p_host_id).');
  END IF;
  IF NOT shoal.is_service() AND v_host IS DISTINCT FROM auth.uid() THEN
    PERFORM shoal.refuse('SH403', 'schedule_owner_foreign', 'A user adds schedules only for themselves.');
  END IF;
  RETURN v_host;
END
$$;

CREATE FUNCTION shoal.schedule_says(p_schedule public.schedule_t) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
  SELECT to_jsonb(p_schedule) - ARRAY['host_id', 'next_run_ts', 'next_fire_ts', 'aggregate_version', 'active', 'runs',
    'paused_at', 'pause_reason', 'parked_at', 'error', 'ended_at', 'created_at', 'updated_at']
$$;

CREATE FUNCTION shoal.skip_unwanted_events() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
  v_skipped int;
BEGIN
  WITH free AS MATERIALIZED (
    SELECT k.sink, k.partition, c.last_position
      FROM public.consumer_offset_t k
      JOIN public.outbox_partition_t c ON c.partition = k.partition
      JOIN public.event_sink_t s ON s.name = k.sink AND s.paused_because IS NULL
     WHERE k.position < c.last_position
       AND (k.held_until IS NULL OR k.held_until < clock_timestamp())
       AND (k.retry_at IS NULL OR k.retry_at < clock_timestamp())
       AND NOT EXISTS (
             SELECT FROM public.outbox_message_t o JOIN public.event_store_t e ON e.event_id = o.event_id
              WHERE o.partition = k.partition AND o.position > k.position AND o.position <= c.last_position
                AND (o.sink IS NULL OR o.sink = k.sink) AND shoal.event_matches(e.event_type, s.patterns)
                AND (s.user_id IS NULL OR e.user_id = s.user_id))
     ORDER BY k.sink, k.partition FOR NO KEY UPDATE OF k SKIP LOCKED
  )
  UPDATE public.consumer_offset_t k
     SET position = greatest(k.position, f.last_position), attempts = 0, failing_since = NULL, retry_at = NULL,
         last_error = NULL, holder = NULL, held_until = NULL, moved_at = clock_timestamp()
    FROM free f WHERE k.sink = f.sink AND k.partition = f.partition;
  GET DIAGNOSTICS v_skipped = ROW_COUNT;
  RETURN v_skipped;
END
$$;

CREATE FUNCTION shoal.snooze_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_after_s real[]) RETURNS TABLE(task_id uuid, verdict text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_snoozed uuid[];
BEGIN
  PERFORM FROM public.job_tasks t WHERE t.id = ANY (p_task_ids) ORDER BY t.id FOR UPDATE;
  WITH snoozed AS (
    UPDATE public.job_tasks t
       SET status = 'pending', worker_id = NULL, claim_token = NULL, claimed_at = NULL,
           attempts = t.attempts - 1, delayed = true,
           run_at = clock_timestamp() + make_interval(
             secs => least(greatest(coalesce(nullif(g.after_s, 'NaN'), 0), 0), 31536000))
      FROM unnest(p_task_ids, p_claim_tokens, p_after_s) AS g(id, token, after_s)
     WHERE t.id = g.id AND t.status = 'claimed' AND t.worker_id = p_worker_id AND t.claim_token = g.token
    RETURNING t.id
  )
  SELECT array_agg(id) INTO v_snoozed FROM snoozed;
  IF v_snoozed IS NOT NULL THEN
    DELETE FROM public.task_leases l WHERE l.task_id = ANY (v_snoozed);
    PERFORM pg_notify('shoal_tasks', '');
  END IF;
  RETURN QUERY
    SELECT id, CASE WHEN id = ANY (v_snoozed) THEN 'snoozed' ELSE 'lease_lost' END FROM unnest(p_task_ids) AS id;
END
$$;

CREATE FUNCTION shoal.spend_tokens(p_places tid[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  UPDATE public.task_limits l
     SET tokens = shoal.tokens_of(l) - taken.n, counted_at = clock_timestamp()
    FROM (SELECT t.task_type, count(*) AS n FROM public.job_tasks t WHERE t.ctid = ANY (p_places)
           GROUP BY t.task_type) taken
   WHERE l.task_type = taken.task_type AND l.rate_per_s IS NOT NULL
$$;

CREATE FUNCTION shoal.spread_failure(p_task_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_failed  uuid[] := p_task_ids;
  v_skipped uuid[] := '{}';
  v_ended   uuid[] := p_task_ids;
BEGIN
  WHILE cardinality(v_ended) > 0 LOOP
    PERFORM shoal.release_dependants(v_ended, true);
    WITH hit AS (
      SELECT e.task_id, bool_or(e.on_failure = 'fail' AND e.needs = ANY (v_failed)) AS fails
        FROM public.task_edges e
       WHERE e.needs = ANY (v_ended) AND e.on_failure <> 'ignore'
       GROUP BY e.task_id
    ), ended AS (
      UPDATE public.job_tasks t
         SET status = CASE WHEN hit.fails THEN 'failed' ELSE 'cancelled' END,
             error = 'A task it needs did not complete.', finished_at = clock_timestamp()
        FROM hit
       WHERE t.id = hit.task_id AND t.status = 'pending'
      RETURNING t.id, t.status
    )
    SELECT coalesce(array_agg(id) FILTER (WHERE status = 'failed'), '{}'),
           coalesce(array_agg(id) FILTER (WHERE status = 'cancelled'), '{}')
      INTO v_failed, v_skipped FROM ended;
    v_ended := v_failed || v_skipped;
  END LOOP;
END
$$;

CREATE FUNCTION shoal.start_job_of_event(p_event_id uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_event public.event_store_t;
BEGIN
  SELECT e.* INTO v_event FROM public.event_store_t e WHERE e.event_id = p_event_id;
  IF v_event.aggregate_type = 'schedule' THEN
    PERFORM shoal.start_scheduled_job(p_event_id);
  ELSIF jsonb_typeof(v_event.payload -> 'type') IS DISTINCT FROM 'string' THEN
    PERFORM shoal.refuse('SH400', 'job_type_missing', 'The event does not name the type of a job.');
  ELSE
    PERFORM public.create_job(v_event.payload ->> 'type', coalesce(v_event.payload -> 'params', '{}'), v_event.user_id,
      coalesce((v_event.payload ->> 'priority')::int, 0));
  END IF;
END
$$;

CREATE TABLE public.schedule_fires (
    schedule_id uuid NOT NULL,
    fire_ts timestamp with time zone NOT NULL,
    kind text NOT NULL,
    event_id uuid NOT NULL,
    fired_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    since_ts timestamp with time zone,
    outcome text,
    job_id uuid,
    error shoal.error_text,
    CONSTRAINT schedule_fires_kind_check CHECK ((kind = ANY (ARRAY['scheduled'::text, 'manual'::text, 'backfill'::text]))),
    CONSTRAINT schedule_fires_outcome_check CHECK ((outcome = ANY (ARRAY['started'::text, 'queued'::text, 'skipped'::text, 'failed'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.05');

CREATE FUNCTION shoal.start_job_of_run(p_schedule public.schedule_t, p_run public.schedule_fires) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_asked   jsonb;
  v_living  uuid;
  v_outcome text := 'started';
  v_error   text;
  v_job     uuid;
BEGIN
  BEGIN
    v_asked := p_schedule.event_data::jsonb;
    IF p_schedule.overlap <> 'allow' THEN
      SELECT j.id INTO v_living FROM public.jobs j
       WHERE j.user_id = p_schedule.host_id AND j.type = v_asked ->> 'type'
         AND j.unique_key = 'schedule:' || p_schedule.schedule_id AND j.status IN ('queued', 'processing');
    END IF;
    IF v_living IS NOT NULL AND p_schedule.overlap = 'skip' THEN
      v_outcome := 'skipped';
    ELSIF p_schedule.overlap = 'queue' AND (v_living IS NOT NULL OR EXISTS (
            SELECT FROM public.schedule_fires f
             WHERE f.schedule_id = p_run.schedule_id AND f.outcome = 'queued'
               AND (f.fire_ts, f.kind) < (p_run.fire_ts, p_run.kind))) THEN
      v_outcome := CASE WHEN (SELECT count(*) FROM public.schedule_fires f
                               WHERE f.schedule_id = p_run.schedule_id AND f.outcome = 'queued') < p_schedule.missed_limit
                        THEN 'queued' ELSE 'skipped' END;
    ELSE
      IF v_living IS NOT NULL THEN
        PERFORM public.cancel_job(v_living, 'Its schedule started the next one.');
      END IF;
      v_job := (shoal.insert_jobs(p_schedule.host_id, jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'type', v_asked ->> 'type', 'params', v_asked -> 'params', 'priority', v_asked -> 'priority',
        'unique_key', CASE WHEN p_schedule.overlap <> 'allow' THEN 'schedule:' || p_schedule.schedule_id END))),
        'reject'))[1];
    END IF;
  EXCEPTION WHEN SQLSTATE 'SH400' OR SQLSTATE 'SH403' OR SQLSTATE 'SH404' OR SQLSTATE 'SH409' OR SQLSTATE 'SH413'
                 OR data_exception OR integrity_constraint_violation THEN
    GET STACKED DIAGNOSTICS v_error = MESSAGE_TEXT;
    v_outcome := 'failed';
    v_job := NULL;
  END;
  UPDATE public.schedule_fires f SET outcome = v_outcome, job_id = v_job, error = left(v_error, 16384)
   WHERE f.schedule_id = p_run.schedule_id AND f.fire_ts = p_run.fire_ts AND f.kind = p_run.kind;
  RETURN v_job;
END
$$;

CREATE FUNCTION shoal.start_jobs_of_events(p_sink text, p_at_most integer DEFAULT 100) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
  v_holder uuid := gen_random_uuid();
  v_rows   record;
  v_seen   int := 0;
  v_here   smallint;
  v_up_to  bigint;
  v_error  text;
BEGIN
  FOR v_rows IN SELECT t.* FROM shoal.take_events(p_sink, v_holder, 60, 1, p_at_most) t LOOP
    v_here := v_rows.partition;
    v_up_to := v_rows.up_to;
    CONTINUE WHEN v_rows.event_id IS NULL;
    v_seen := v_seen + 1;
    BEGIN
      INSERT INTO shoal.consumed_events (event_id, sink) VALUES (v_rows.event_id, p_sink) ON CONFLICT DO NOTHING;
      IF FOUND THEN
        PERFORM shoal.start_job_of_event(v_rows.event_id);
      END IF;
    EXCEPTION WHEN OTHERS THEN
      -- The other transaction won, something of ours is missing, no room, not now, the server ends, its disk:
      -- not the fault of the event.
      IF left(SQLSTATE, 2) IN ('08', '25', '40', '42', '53', '55', '57', '58', 'XX') THEN
        RAISE;
      END IF;
      GET STACKED DIAGNOSTICS v_error = MESSAGE_TEXT;
      INSERT INTO public.event_dead_letter_t AS d (sink, event_id, reason, attempts)
      VALUES (p_sink, v_rows.event_id, left(v_error, 4000), 1)
      ON CONFLICT (sink, event_id) DO UPDATE SET reason = excluded.reason, attempts = d.attempts + 1,
                                                 failed_at = clock_timestamp();
    END;
  END LOOP;
  IF v_here IS NULL THEN
    RETURN NULL;
  END IF;
  PERFORM shoal.advance_cursors(p_sink, v_holder, ARRAY[v_here], ARRAY[v_up_to], true);
  RETURN v_seen;
END
$$;

CREATE FUNCTION shoal.start_scheduled_job(p_event_id uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
DECLARE
  v_schedule public.schedule_t;
  v_run      public.schedule_fires;
  v_event    record;
BEGIN
  SELECT e.aggregate_id::uuid AS schedule_id, (e.payload ->> 'fireTs')::timestamptz AS fire_ts, e.payload ->> 'kind' AS kind
    INTO v_event
    FROM public.event_store_t e
   WHERE e.event_id = p_event_id AND e.aggregate_type = 'schedule' AND e.event_type = 'job.start';
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  SELECT * INTO v_schedule FROM public.schedule_t s WHERE s.schedule_id = v_event.schedule_id FOR KEY SHARE;
  IF v_schedule.overlap <> 'allow' THEN
    SELECT * INTO v_schedule FROM public.schedule_t s WHERE s.schedule_id = v_event.schedule_id FOR NO KEY UPDATE;
  END IF;
  SELECT * INTO v_run FROM public.schedule_fires f
   WHERE f.schedule_id = v_event.schedule_id AND f.fire_ts = v_event.fire_ts AND f.kind = v_event.kind
   FOR NO KEY UPDATE;
  IF v_run.schedule_id IS NULL OR v_schedule.schedule_id IS NULL THEN
    RETURN NULL;
  ELSIF v_run.outcome IS NOT NULL THEN
    RETURN v_run.job_id;
  END IF;
  RETURN shoal.start_job_of_run(v_schedule, v_run);
END
$$;

CREATE FUNCTION shoal.take_events(p_sink text, p_holder uuid, p_lease_s real, p_partitions integer, p_at_most integer) RETURNS TABLE(partition smallint, up_to bigint, attempts integer, "position" bigint, event_id uuid, aggregate_type text, aggregate_id text, aggregate_version bigint, event_type text, event_topic text, payload jsonb, user_id uuid, occurred_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
  v_sink public.event_sink_t;
  v_taken smallint[];
BEGIN
  SELECT s.* INTO v_sink FROM public.event_sink_t s WHERE s.name = p_sink AND s.paused_because IS NULL;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  WITH free AS (
    SELECT k.partition FROM public.consumer_offset_t k
      JOIN shoal.free_cursors(p_sink) f ON f.partition = k.partition
     WHERE k.sink = p_sink AND (k.held_until IS NULL OR k.held_until < clock_timestamp())
     ORDER BY k.moved_at LIMIT p_partitions FOR NO KEY UPDATE OF k SKIP LOCKED
  ), taken AS (
    UPDATE public.consumer_offset_t k
       SET holder = p_holder, held_until = clock_timestamp() + make_interval(secs => p_lease_s)
      FROM free f WHERE k.sink = p_sink AND k.partition = f.partition
    RETURNING k.partition
  )
  SELECT array_agg(t.partition ORDER BY t.partition) INTO v_taken FROM taken t;
  RETURN QUERY
    SELECT k.partition, r.up_to, k.attempts, e."position", e.event_id, e.aggregate_type::text, e.aggregate_id,
           e.aggregate_version, e.event_type::text, e.event_topic::text, e.payload::jsonb, e.user_id, e.occurred_at
      FROM public.consumer_offset_t k
      JOIN public.outbox_partition_t c ON c.partition = k.partition
     CROSS JOIN LATERAL (
       SELECT coalesce(max(n."position"), c.last_position) AS up_to FROM (
         SELECT o."position" FROM public.outbox_message_t o
          WHERE o.partition = k.partition AND o."position" > k."position"
          ORDER BY o."position" LIMIT p_at_most) n) r
      LEFT JOIN LATERAL (
       SELECT o."position", s.* FROM public.outbox_message_t o JOIN public.event_store_t s ON s.event_id = o.event_id
        WHERE o.partition = k.partition AND o."position" > k."position" AND o."position" <= r.up_to
          AND (o.sink IS NULL OR o.sink = p_sink) AND shoal.event_matches(s.event_type, v_sink.patterns)
          AND (v_sink.user_id IS NULL OR s.user_id = v_sink.user_id)
      ) e ON true
     WHERE k.sink = p_sink AND k.partition = ANY (v_taken)
     ORDER BY k.partition, e."position";
END
$$;

CREATE TABLE public.idempotency_keys (
    user_id uuid NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    job_id uuid,
    job_ids uuid[],
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255)))
);

CREATE FUNCTION shoal.take_idempotency_key(p_user_id uuid, p_key text, p_request jsonb) RETURNS public.idempotency_keys
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION shoal.tell_of_schedules(p_schedule_ids uuid[], p_event_type text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO ''
    AS $$
  SELECT shoal.append_events('schedule', array_agg(s.schedule_id::text), array_agg(p_event_type),
           array_agg(jsonb_strip_nulls(jsonb_build_object(
             'v', 1, 'scheduleId', s.schedule_id, 'name', s.schedule_name, 'reason', s.pause_reason,
             'error', s.error))),
           array_agg(s.host_id), array_agg(s.aggregate_version))
    FROM public.schedule_t s WHERE s.schedule_id = ANY (p_schedule_ids)
$$;

CREATE FUNCTION shoal.tokens_of(p_limit public.task_limits) RETURNS double precision
    LANGUAGE sql
    SET search_path TO ''
    AS $$
  SELECT least(p_limit.burst,
    p_limit.tokens + p_limit.rate_per_s * extract(epoch FROM clock_timestamp() - p_limit.counted_at))
$$;

CREATE FUNCTION shoal.wake_for_limits() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$
BEGIN
  IF EXISTS (SELECT FROM public.task_limits l WHERE l.max_running IS NOT NULL) THEN
    PERFORM pg_notify('shoal_tasks', '');
  END IF;
END
$$;

CREATE FUNCTION shoal.wrong_in_graphs(p_job_ids uuid[], p_graphs jsonb[]) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    SET enable_nestloop TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
  v_wrong text;
BEGIN
  WITH graph AS MATERIALIZED (
    SELECT g.nr, g.graph, (SELECT j.phase_names FROM public.jobs j WHERE j.id = g.job_id) AS phases
      FROM unnest(p_job_ids, p_graphs) WITH ORDINALITY AS g(job_id, graph, nr)
  ), given AS MATERIALIZED (
    SELECT g.nr, g.phases, t.position, t.task, t.task ->> 'name' AS name,
           coalesce(nullif(t.task -> 'needs', 'null'), '[]') AS needs
      FROM graph g
     CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(g.graph -> 'tasks') WHEN 'array'
       THEN g.graph -> 'tasks' ELSE '[]' END) WITH ORDINALITY AS t(task, position)
  ), need AS MATERIALIZED (
    SELECT g.nr, g.position, g.name, n.name AS needed
      FROM given g
     CROSS JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(g.needs) WHEN 'array' THEN g.needs
                                                  ELSE '[]' END) AS n(name)
  ), number AS MATERIALIZED (
    SELECT g.nr, g.name, n.key,
           CASE WHEN jsonb_typeof(n.value) = 'number' THEN n.value::numeric ELSE 'NaN' END AS value
      FROM given g
     CROSS JOIN LATERAL (VALUES
       ('priority', g.task -> 'priority'), ('max_attempts', g.task -> 'max_attempts'),
       ('backoff_s', g.task -> 'backoff_s'), ('timeout_s', g.task -> 'timeout_s')) AS n(key, value)
     WHERE jsonb_typeof(g.task) = 'object' AND n.value <> 'null'
  ), wrong AS (
    SELECT nr, 1 AS rank, 'it has no list of tasks' AS what FROM graph
     WHERE jsonb_typeof(graph -> 'tasks') IS DISTINCT FROM 'array'
    UNION ALL
    SELECT nr, 2, 'a task has no name or no task_type, or one that is too long' FROM given
     WHERE NOT coalesce(length(name) BETWEEN 1 AND 255, false)
        OR NOT coalesce(length(task ->> 'task_type') BETWEEN 1 AND 127, false)
    UNION ALL
    SELECT nr, 3, format('two tasks are named %L', name) FROM given GROUP BY nr, name HAVING count(*) > 1
    UNION ALL
    SELECT nr, 4, format('what task %L needs is not a list of names', name) FROM given
     WHERE jsonb_typeof(needs) <> 'array'
    UNION ALL
    SELECT n.nr, 5, format('task %L needs %L, which is not a task before it', n.name, n.needed)
      FROM need n LEFT JOIN given p ON p.nr = n.nr AND p.name = n.needed AND p.position < n.position
     WHERE p.name IS NULL
    UNION ALL
    SELECT nr, 6, format('task %L needs %L twice', name, needed) FROM need
     GROUP BY nr, name, needed HAVING count(*) > 1
    UNION ALL
    SELECT nr, 7, format('task %L is in the phase %L, which the job does not have', name, task ->> 'phase')
      FROM given WHERE NOT task ->> 'phase' = ANY (phases)
    UNION ALL
    SELECT nr, 8, format('task %L cannot be a plan', name) FROM given WHERE task ->> 'task_type' LIKE 'plan:%'
    UNION ALL
    SELECT nr, 9, format('on_failure of task %L is not fail, skip or ignore', name) FROM given
     WHERE task ->> 'on_failure' NOT IN ('fail', 'skip', 'ignore')
    UNION ALL
    SELECT nr, 10, format('the executor of task %L is not worker, fleet or mesh', name) FROM given
     WHERE task ->> 'executor' NOT IN ('worker', 'fleet', 'mesh')
    UNION ALL
    SELECT nr, 11, format('max_attempts of task %L is not a whole number from 1 to 100', name) FROM number
     WHERE key = 'max_attempts' AND NOT (value BETWEEN 1 AND 100 AND value % 1 = 0)
    UNION ALL
    SELECT nr, 12, format('%s of task %L is not a number of seconds', key, name) FROM number
     WHERE key IN ('backoff_s', 'timeout_s') AND NOT (value = 0 OR value BETWEEN 0.000001 AND 1000000000)
    UNION ALL
    SELECT nr, 13, format('priority of task %L is not a whole number from -100 to 100', name) FROM number
     WHERE key = 'priority' AND NOT (value BETWEEN -100 AND 100 AND value % 1 = 0)
    UNION ALL
    SELECT nr, 14, format('each of task %L is not a list of inputs', name) FROM given
     WHERE jsonb_typeof(task -> 'each') <> 'array'
    UNION ALL
    SELECT g.nr, 15, format('the result is task %L, which the graph does not have as one task', g.graph ->> 'result')
      FROM graph g LEFT JOIN given t ON t.nr = g.nr AND t.name = g.graph ->> 'result' AND NOT t.task ? 'each'
     WHERE g.graph ->> 'result' IS NOT NULL AND t.name IS NULL
  )
  SELECT 'The graph is not valid: ' || what || '.' INTO v_wrong FROM wrong ORDER BY nr, rank LIMIT 1;
  RETURN v_wrong;
END
$$;

CREATE TABLE public.access_keys (
    id uuid DEFAULT shoal.uuid7() NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT access_keys_kind_check CHECK ((kind = ANY (ARRAY['service'::text, 'worker'::text]))),
    CONSTRAINT access_keys_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'::text)),
    CONSTRAINT access_keys_secret_hash_check CHECK ((octet_length(secret_hash) = 32))
);

CREATE TABLE public.configs (
    hash text NOT NULL,
    body text NOT NULL,
    created_by uuid,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT config_is_named_by_its_text CHECK ((hash = encode(sha256(convert_to(body, 'UTF8'::name)), 'hex'::text))),
    CONSTRAINT configs_body_check CHECK ((octet_length(body) <= 524288))
);

CREATE TABLE public.data_sets (
    id text NOT NULL,
    name text NOT NULL,
    size_bytes bigint NOT NULL,
    shards integer NOT NULL,
    files integer NOT NULL,
    published_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT data_sets_files_check CHECK ((files > 0)),
    CONSTRAINT data_sets_id_check CHECK ((id ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT data_sets_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'::text)),
    CONSTRAINT data_sets_shards_check CHECK ((shards > 0)),
    CONSTRAINT data_sets_size_bytes_check CHECK ((size_bytes > 0))
);

CREATE VIEW public.dead_letters WITH (security_invoker='true') AS
 SELECT t.id AS task_id,
    t.job_id,
    j.user_id,
    j.type AS job_type,
    j.status AS job_status,
    t.name AS task_name,
    t.task_type,
        CASE
            WHEN (t.attempts >= (t.max_attempts)::integer) THEN 'attempts_used_up'::text
            ELSE 'permanent'::text
        END AS reason,
    t.attempts,
    t.max_attempts,
    t.error,
    t.finished_at AS failed_at
   FROM (public.job_tasks t
     JOIN public.jobs j ON ((j.id = t.job_id)))
  WHERE (((t.status)::text = 'failed'::text) AND (t.attempts > 0) AND (j.tasks_failed > 0));

CREATE TABLE public.discord_link_codes (
    user_id uuid NOT NULL,
    code_hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT discord_link_codes_code_hash_check CHECK ((octet_length(code_hash) = 32))
);

CREATE TABLE public.discord_links (
    discord_id text NOT NULL,
    user_id uuid NOT NULL,
    discord_name text DEFAULT ''::text NOT NULL,
    linked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT discord_links_discord_id_check CHECK ((discord_id ~ '^[1-9][0-9]{0,19}$'::text)),
    CONSTRAINT discord_links_discord_name_check CHECK ((length(discord_name) <= 200))
);

CREATE TABLE public.discord_server_filters (
    guild_id text NOT NULL,
    guild_name text DEFAULT ''::text NOT NULL,
    member_count integer NOT NULL,
    filter text NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT discord_server_filters_guild_id_check CHECK ((guild_id ~ '^[1-9][0-9]{0,19}$'::text)),
    CONSTRAINT discord_server_filters_guild_name_check CHECK ((length(guild_name) <= 200)),
    CONSTRAINT discord_server_filters_member_count_check CHECK ((member_count >= 0))
);

CREATE TABLE public.event_dead_letter_t (
    sink text NOT NULL,
    event_id uuid NOT NULL,
    reason text NOT NULL,
    attempts integer NOT NULL,
    failed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.event_sink_t (
    name text NOT NULL,
    kind text NOT NULL,
    patterns text[] NOT NULL,
    user_id uuid,
    config jsonb DEFAULT '{}'::jsonb NOT NULL,
    max_attempts integer DEFAULT 10 NOT NULL,
    paused_because text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT event_sink_t_kind_check CHECK ((kind = ANY (ARRAY['kafka'::text, 'webhook'::text, 'beacon'::text, 'consumer'::text, 'jobs'::text]))),
    CONSTRAINT event_sink_t_max_attempts_check CHECK (((max_attempts >= 1) AND (max_attempts <= 1000))),
    CONSTRAINT event_sink_t_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'::text)),
    CONSTRAINT event_sink_t_patterns_check CHECK (((cardinality(patterns) >= 1) AND (cardinality(patterns) <= 100))),
    CONSTRAINT event_sink_t_paused_because_check CHECK (((length(paused_because) >= 1) AND (length(paused_because) <= 1000)))
);

CREATE TABLE public.event_store_t (
    event_id uuid NOT NULL,
    aggregate_type shoal.event_name NOT NULL,
    aggregate_id text NOT NULL,
    aggregate_version bigint,
    event_type shoal.event_name NOT NULL,
    event_topic shoal.event_name NOT NULL,
    payload shoal.event_payload DEFAULT '{}'::jsonb NOT NULL,
    user_id uuid,
    occurred_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    seq bigint NOT NULL
);

ALTER TABLE public.event_store_t ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.event_store_t_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.job_artifacts (
    id uuid DEFAULT shoal.uuid7() NOT NULL,
    job_id uuid NOT NULL,
    task_id uuid NOT NULL,
    claim_token uuid NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    artifact_type text NOT NULL,
    storage_path text NOT NULL,
    public_url text,
    content_type text DEFAULT 'application/octet-stream'::text NOT NULL,
    file_size_bytes bigint DEFAULT 0 NOT NULL,
    duration_seconds double precision,
    sha256 text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    user_id uuid NOT NULL,
    fallback_for text,
    CONSTRAINT job_artifacts_artifact_type_check CHECK (((length(artifact_type) >= 1) AND (length(artifact_type) <= 127))),
    CONSTRAINT job_artifacts_content_type_check CHECK ((length(content_type) <= 255)),
    CONSTRAINT job_artifacts_duration_seconds_check CHECK ((duration_seconds >= (0)::double precision)),
    CONSTRAINT job_artifacts_fallback_for_check CHECK (((length(fallback_for) >= 1) AND (length(fallback_for) <= 255))),
    CONSTRAINT job_artifacts_file_size_bytes_check CHECK ((file_size_bytes >= 0)),
    CONSTRAINT job_artifacts_name_check CHECK ((length(name) <= 255)),
    CONSTRAINT job_artifacts_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT job_artifacts_storage_path_check CHECK (((length(storage_path) >= 1) AND (length(storage_path) <= 1024)))
);

COMMENT ON COLUMN public.job_artifacts.fallback_for IS 'The name of the artifact of the same task that this one is a second format of; null for a primary one.';

CREATE TABLE public.job_types (
    type text NOT NULL,
    version text DEFAULT '1'::text NOT NULL,
    params_schema jsonb DEFAULT '{}'::jsonb NOT NULL,
    phases jsonb DEFAULT '[]'::jsonb NOT NULL,
    registered_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT job_types_type_check CHECK ((type ~ '^[a-z][a-z0-9_.-]{0,62}$'::text))
);

CREATE TABLE public.nodes (
    id uuid DEFAULT shoal.uuid7() NOT NULL,
    user_id uuid,
    public_key bytea NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    claim_code text,
    max_parallel integer,
    paused boolean DEFAULT false NOT NULL,
    platform text DEFAULT ''::text NOT NULL,
    version text DEFAULT ''::text NOT NULL,
    engines text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    claimed_at timestamp with time zone,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_seen_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT node_is_claimed_once CHECK ((((user_id IS NULL) = (claimed_at IS NULL)) AND ((user_id IS NULL) OR (claim_code IS NULL)))),
    CONSTRAINT nodes_claim_code_check CHECK (((length(claim_code) >= 8) AND (length(claim_code) <= 40))),
    CONSTRAINT nodes_engines_check CHECK ((cardinality(engines) <= 64)),
    CONSTRAINT nodes_max_parallel_check CHECK (((max_parallel >= 1) AND (max_parallel <= 1024))),
    CONSTRAINT nodes_name_check CHECK ((length(name) <= 100)),
    CONSTRAINT nodes_platform_check CHECK ((length(platform) <= 100)),
    CONSTRAINT nodes_public_key_check CHECK ((octet_length(public_key) = 32)),
    CONSTRAINT nodes_version_check CHECK ((length(version) <= 100))
);

CREATE TABLE public.nodes_permissions (
    node_id uuid NOT NULL,
    access_type text NOT NULL,
    target_id text DEFAULT ''::text NOT NULL,
    CONSTRAINT nodes_permissions_access_type_check CHECK ((access_type = ANY (ARRAY['public'::text, 'user'::text, 'discord'::text]))),
    CONSTRAINT nodes_permissions_target_id_check CHECK ((target_id ~ '^[A-Za-z0-9-]{0,100}$'::text)),
    CONSTRAINT public_has_no_target CHECK (((access_type = 'public'::text) = (target_id = ''::text)))
);

CREATE TABLE public.outbox_message_t (
    id bigint NOT NULL,
    event_id uuid NOT NULL,
    partition smallint NOT NULL,
    "position" bigint,
    sink text
)
WITH (autovacuum_vacuum_scale_factor='0.05');

ALTER TABLE public.outbox_message_t ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_message_t_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.outbox_partition_t (
    partition smallint NOT NULL,
    last_position bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.scheduler_lock_t (
    lock_id integer NOT NULL,
    instance_id character varying(255) NOT NULL,
    last_heartbeat timestamp with time zone NOT NULL,
    elected_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    lease_s real DEFAULT 60 NOT NULL,
    CONSTRAINT scheduler_lock_t_lease_s_check CHECK ((lease_s > (0)::double precision))
)
WITH (fillfactor='50');

CREATE TABLE public.task_edges (
    needs uuid NOT NULL,
    task_id uuid NOT NULL,
    on_failure text DEFAULT 'fail'::text NOT NULL,
    CONSTRAINT task_edges_on_failure_check CHECK ((on_failure = ANY (ARRAY['fail'::text, 'skip'::text, 'ignore'::text])))
);

CREATE TABLE public.task_leases (
    task_id uuid NOT NULL,
    claim_token uuid NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    progress real DEFAULT 0 NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    CONSTRAINT task_leases_message_check CHECK ((length(message) <= 500)),
    CONSTRAINT task_leases_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision)))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.task_logs (
    id bigint NOT NULL,
    job_id uuid NOT NULL,
    task_id uuid NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    level text DEFAULT 'info'::text NOT NULL,
    line text NOT NULL,
    CONSTRAINT task_logs_level_check CHECK ((level = ANY (ARRAY['debug'::text, 'info'::text, 'warning'::text, 'error'::text]))),
    CONSTRAINT task_logs_line_check CHECK ((length(line) <= 4096))
);

ALTER TABLE public.task_logs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.task_logs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.users (
    id uuid NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.vault_usage (
    user_id uuid NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    max_bytes bigint,
    CONSTRAINT vault_usage_max_bytes_check CHECK ((max_bytes >= 0))
);

CREATE TABLE shoal.chores (
    name text NOT NULL,
    due_at timestamp with time zone NOT NULL
);

CREATE TABLE shoal.consumed_events (
    event_id uuid NOT NULL,
    sink text NOT NULL
);

CREATE TABLE shoal.deleted_jobs (
    job_id uuid NOT NULL,
    user_id uuid NOT NULL,
    deleted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    empty_at timestamp with time zone DEFAULT clock_timestamp()
);

CREATE TABLE shoal.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE shoal.sink_secrets (
    sink text NOT NULL,
    secret text NOT NULL,
    CONSTRAINT sink_secrets_secret_check CHECK ((length(secret) >= 32))
);

CREATE VIEW shoal.stale_tasks AS
 SELECT t.id
   FROM (public.job_tasks t
     LEFT JOIN public.task_leases l ON (((l.task_id = t.id) AND (l.claim_token = t.claim_token))))
  WHERE (((t.status)::text = 'claimed'::text) AND ((t.executor)::text = 'worker'::text) AND ((GREATEST(t.claimed_at, l.heartbeat_at) + make_interval(secs => (t.lease_s)::double precision)) < clock_timestamp()));

CREATE TABLE shoal.vault_quota (
    is_only boolean DEFAULT true NOT NULL,
    max_bytes bigint,
    max_bytes_per_user bigint,
    CONSTRAINT vault_quota_is_only_check CHECK (is_only),
    CONSTRAINT vault_quota_max_bytes_check CHECK ((max_bytes >= 0)),
    CONSTRAINT vault_quota_max_bytes_per_user_check CHECK ((max_bytes_per_user >= 0))
);

ALTER TABLE ONLY public.access_keys
    ADD CONSTRAINT access_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.configs
    ADD CONSTRAINT configs_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.consumer_offset_t
    ADD CONSTRAINT consumer_offset_t_pkey PRIMARY KEY (sink, partition);

ALTER TABLE ONLY public.data_sets
    ADD CONSTRAINT data_sets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.discord_link_codes
    ADD CONSTRAINT discord_link_codes_code_hash_key UNIQUE (code_hash);

ALTER TABLE ONLY public.discord_link_codes
    ADD CONSTRAINT discord_link_codes_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.discord_links
    ADD CONSTRAINT discord_links_pkey PRIMARY KEY (discord_id);

ALTER TABLE ONLY public.discord_links
    ADD CONSTRAINT discord_links_user_id_key UNIQUE (user_id);

ALTER TABLE ONLY public.discord_server_filters
    ADD CONSTRAINT discord_server_filters_pkey PRIMARY KEY (guild_id);

ALTER TABLE ONLY public.event_dead_letter_t
    ADD CONSTRAINT event_dead_letter_t_pkey PRIMARY KEY (sink, event_id);

ALTER TABLE ONLY public.event_sink_t
    ADD CONSTRAINT event_sink_t_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.event_store_t
    ADD CONSTRAINT event_store_t_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (user_id, key);

ALTER TABLE ONLY public.job_artifacts
    ADD CONSTRAINT job_artifacts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.job_artifacts
    ADD CONSTRAINT job_artifacts_task_id_claim_token_storage_path_key UNIQUE (task_id, claim_token, storage_path);

ALTER TABLE ONLY public.job_tasks
    ADD CONSTRAINT job_tasks_pkey PRIMARY KEY (id) WITH (fillfactor='50');

ALTER TABLE ONLY public.job_types
    ADD CONSTRAINT job_types_pkey PRIMARY KEY (type);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_claim_code_key UNIQUE (claim_code);

ALTER TABLE ONLY public.nodes_permissions
    ADD CONSTRAINT nodes_permissions_pkey PRIMARY KEY (node_id, access_type, target_id);

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_public_key_key UNIQUE (public_key);

ALTER TABLE ONLY public.outbox_message_t
    ADD CONSTRAINT outbox_message_t_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.outbox_partition_t
    ADD CONSTRAINT outbox_partition_t_pkey PRIMARY KEY (partition);

ALTER TABLE ONLY public.schedule_t
    ADD CONSTRAINT schedule_exists UNIQUE (host_id, schedule_name);

ALTER TABLE ONLY public.schedule_fires
    ADD CONSTRAINT schedule_fires_pkey PRIMARY KEY (schedule_id, fire_ts, kind);

ALTER TABLE ONLY public.schedule_t
    ADD CONSTRAINT schedule_t_pkey PRIMARY KEY (schedule_id);

ALTER TABLE ONLY public.scheduler_lock_t
    ADD CONSTRAINT scheduler_lock_t_pkey PRIMARY KEY (lock_id);

ALTER TABLE ONLY public.task_edges
    ADD CONSTRAINT task_edges_pkey PRIMARY KEY (needs, task_id);

ALTER TABLE ONLY public.task_leases
    ADD CONSTRAINT task_leases_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY public.task_limits
    ADD CONSTRAINT task_limits_pkey PRIMARY KEY (task_type);

ALTER TABLE ONLY public.task_logs
    ADD CONSTRAINT task_logs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.vault_usage
    ADD CONSTRAINT vault_usage_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY shoal.chores
    ADD CONSTRAINT chores_pkey PRIMARY KEY (name);

ALTER TABLE ONLY shoal.consumed_events
    ADD CONSTRAINT consumed_events_pkey PRIMARY KEY (event_id, sink);

ALTER TABLE ONLY shoal.deleted_jobs
    ADD CONSTRAINT deleted_jobs_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY shoal.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY shoal.sink_secrets
    ADD CONSTRAINT sink_secrets_pkey PRIMARY KEY (sink);

ALTER TABLE ONLY shoal.vault_quota
    ADD CONSTRAINT vault_quota_pkey PRIMARY KEY (is_only);

CREATE UNIQUE INDEX access_keys_live_name ON public.access_keys USING btree (name) WHERE ((revoked_at IS NULL) AND (expires_at IS NULL));

CREATE INDEX configs_by_use ON public.configs USING btree (used_at);

CREATE INDEX data_sets_by_name ON public.data_sets USING btree (name, published_at DESC);

CREATE INDEX dead_letters_of_event ON public.event_dead_letter_t USING btree (event_id);

CREATE INDEX event_store_in_order ON public.event_store_t USING btree (tx, seq);

CREATE INDEX event_store_of_user ON public.event_store_t USING btree (user_id, tx, seq) WHERE (user_id IS NOT NULL);

CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);

CREATE INDEX idempotency_keys_of_job ON public.idempotency_keys USING btree (job_id);

CREATE INDEX idx_schedule_active_next_run ON public.schedule_t USING btree (next_run_ts) WHERE active;

CREATE INDEX job_artifacts_by_path ON public.job_artifacts USING hash (storage_path);

CREATE INDEX job_artifacts_of_job ON public.job_artifacts USING btree (job_id, created_at);

CREATE INDEX job_tasks_claimed ON public.job_tasks USING btree (task_type, claimed_at) WHERE ((status)::text = 'claimed'::text);

CREATE INDEX job_tasks_delayed ON public.job_tasks USING btree (run_at) WHERE (((status)::text = 'pending'::text) AND delayed);

CREATE INDEX job_tasks_failed ON public.job_tasks USING btree (finished_at, id) WHERE (((status)::text = 'failed'::text) AND (attempts > 0));

CREATE INDEX job_tasks_fleet_claimed ON public.job_tasks USING btree (id) WHERE (((executor)::text = 'fleet'::text) AND ((status)::text = 'claimed'::text));

CREATE INDEX job_tasks_fleet_ready ON public.job_tasks USING btree (order_key, id) WHERE (((executor)::text = 'fleet'::text) AND ((status)::text = 'pending'::text) AND (waiting_on = 0) AND (NOT delayed));

CREATE INDEX job_tasks_of_job ON public.job_tasks USING btree (job_id, sequence) WITH (fillfactor='50');

CREATE INDEX job_tasks_of_mesh ON public.job_tasks USING btree (status, order_key, id) WHERE (((executor)::text = 'mesh'::text) AND ((status)::text = ANY (ARRAY['pending'::text, 'claimed'::text])));

CREATE INDEX job_tasks_ready ON public.job_tasks USING btree (task_type, order_key, id) WHERE (((status)::text = 'pending'::text) AND (waiting_on = 0) AND (NOT delayed));

CREATE INDEX jobs_alive ON public.jobs USING btree (user_id, turn_ends) WHERE (status = ANY (ARRAY['queued'::text, 'processing'::text]));

CREATE INDEX jobs_ended ON public.jobs USING btree (status, finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX jobs_of_user ON public.jobs USING btree (user_id, created_at DESC, id DESC);

CREATE UNIQUE INDEX jobs_unique_while_alive ON public.jobs USING btree (user_id, type, unique_key) WHERE ((unique_key IS NOT NULL) AND (status = ANY (ARRAY['queued'::text, 'processing'::text])));

CREATE INDEX jobs_with_failures ON public.jobs USING btree (user_id) WHERE (tasks_failed > 0);

CREATE INDEX nodes_changed ON public.nodes USING btree (changed_at);

CREATE INDEX nodes_of_user ON public.nodes USING btree (user_id, id) WHERE (user_id IS NOT NULL);

CREATE INDEX nodes_permissions_of_target ON public.nodes_permissions USING btree (access_type, target_id);

CREATE INDEX nodes_unclaimed ON public.nodes USING btree (created_at) WHERE (user_id IS NULL);

CREATE UNIQUE INDEX outbox_in_order ON public.outbox_message_t USING btree (partition, "position") WHERE ("position" IS NOT NULL);

CREATE INDEX outbox_without_position ON public.outbox_message_t USING btree (partition, id) WHERE ("position" IS NULL);

CREATE INDEX schedule_fires_by_age ON public.schedule_fires USING brin (fired_at);

CREATE INDEX schedule_fires_queued ON public.schedule_fires USING btree (schedule_id, fire_ts) WHERE (outcome = 'queued'::text);

CREATE INDEX task_edges_back ON public.task_edges USING btree (task_id, needs);

CREATE INDEX task_logs_by_age ON public.task_logs USING btree (at);

CREATE INDEX task_logs_of_job ON public.task_logs USING btree (job_id, id);

CREATE INDEX deleted_jobs_by_age ON shoal.deleted_jobs USING btree (deleted_at);

CREATE INDEX deleted_jobs_to_empty ON shoal.deleted_jobs USING btree (empty_at) WHERE (empty_at IS NOT NULL);

CREATE TRIGGER adopt_artifact BEFORE INSERT ON public.job_artifacts FOR EACH ROW EXECUTE FUNCTION shoal.adopt_artifact();

CREATE TRIGGER append_events_of_changed_jobs AFTER UPDATE ON public.jobs REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION shoal.append_events_of_changed_jobs();

CREATE TRIGGER append_events_of_changed_tasks AFTER UPDATE ON public.job_tasks REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION shoal.append_events_of_changed_tasks();

CREATE TRIGGER append_events_of_new_jobs AFTER INSERT ON public.jobs REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION shoal.append_events_of_new_jobs();

CREATE TRIGGER count_added_bytes AFTER INSERT ON public.job_artifacts REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_artifact_changes();

CREATE TRIGGER count_changed_bytes AFTER UPDATE ON public.job_artifacts REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_artifact_changes();

CREATE TRIGGER count_job_change BEFORE UPDATE OF status ON public.jobs FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION shoal.count_job_change();

CREATE TRIGGER count_new_tasks AFTER INSERT ON public.job_tasks REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_new_tasks();

CREATE TRIGGER count_removed_bytes AFTER DELETE ON public.job_artifacts REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_artifact_changes();

CREATE TRIGGER count_task_changes AFTER UPDATE ON public.job_tasks REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_task_changes();

CREATE TRIGGER remember_deleted_jobs AFTER DELETE ON public.jobs REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION shoal.remember_deleted_jobs();

ALTER TABLE ONLY public.consumer_offset_t
    ADD CONSTRAINT consumer_offset_t_sink_fkey FOREIGN KEY (sink) REFERENCES public.event_sink_t(name) ON DELETE CASCADE;

ALTER TABLE ONLY public.discord_link_codes
    ADD CONSTRAINT discord_link_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.discord_links
    ADD CONSTRAINT discord_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.event_dead_letter_t
    ADD CONSTRAINT event_dead_letter_t_sink_fkey FOREIGN KEY (sink) REFERENCES public.event_sink_t(name) ON DELETE CASCADE;

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_artifacts
    ADD CONSTRAINT job_artifacts_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_artifacts
    ADD CONSTRAINT job_artifacts_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.job_tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_tasks
    ADD CONSTRAINT job_tasks_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.nodes_permissions
    ADD CONSTRAINT nodes_permissions_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.task_edges
    ADD CONSTRAINT task_edges_needs_fkey FOREIGN KEY (needs) REFERENCES public.job_tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.task_edges
    ADD CONSTRAINT task_edges_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.job_tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.task_leases
    ADD CONSTRAINT task_leases_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.job_tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.task_logs
    ADD CONSTRAINT task_logs_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY shoal.consumed_events
    ADD CONSTRAINT consumed_events_sink_fkey FOREIGN KEY (sink) REFERENCES public.event_sink_t(name) ON DELETE CASCADE;

ALTER TABLE ONLY shoal.sink_secrets
    ADD CONSTRAINT sink_secrets_sink_fkey FOREIGN KEY (sink) REFERENCES public.event_sink_t(name) ON DELETE CASCADE;

ALTER TABLE public.access_keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.configs ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.consumer_offset_t ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.data_sets ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.discord_link_codes ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.discord_links ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.discord_server_filters ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.event_dead_letter_t ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.event_sink_t ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.event_store_t ENABLE ROW LEVEL SECURITY;

CREATE POLICY everybody_reads_how_much_there_is ON public.outbox_partition_t FOR SELECT TO authenticated USING (true);

CREATE POLICY everybody_reads_job_types ON public.job_types FOR SELECT TO authenticated USING (true);

ALTER TABLE public.idempotency_keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.job_artifacts ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.job_tasks ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.job_types ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.jobs ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.nodes ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.nodes_permissions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.outbox_message_t ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.outbox_partition_t ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.schedule_fires ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.schedule_t ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.scheduler_lock_t ENABLE ROW LEVEL SECURITY;

CREATE POLICY service_does_everything ON public.configs TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.data_sets TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.job_artifacts TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.job_tasks TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.job_types TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.jobs TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.nodes TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.nodes_permissions TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.schedule_fires TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.schedule_t TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.scheduler_lock_t TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.task_edges TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.task_leases TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.task_limits TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON public.task_logs TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_manages_discord_codes ON public.discord_link_codes TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_manages_discord_filters ON public.discord_server_filters TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_manages_discord_links ON public.discord_links TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_manages_keys ON public.access_keys TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_manages_users ON public.users TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_reads_everything ON public.consumer_offset_t FOR SELECT TO service_role USING (true);

CREATE POLICY service_reads_everything ON public.event_dead_letter_t FOR SELECT TO service_role USING (true);

CREATE POLICY service_reads_everything ON public.event_sink_t FOR SELECT TO service_role USING (true);

CREATE POLICY service_reads_everything ON public.event_store_t FOR SELECT TO service_role USING (true);

CREATE POLICY service_reads_everything ON public.outbox_message_t FOR SELECT TO service_role USING (true);

CREATE POLICY service_reads_everything ON public.outbox_partition_t FOR SELECT TO service_role USING (true);

CREATE POLICY service_sees_everything ON public.vault_usage FOR SELECT TO service_role USING (true);

ALTER TABLE public.task_edges ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task_leases ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task_limits ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task_logs ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.users ENABLE ROW LEVEL SECURITY;

CREATE POLICY users_read_finished_artifacts ON public.job_artifacts FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.job_tasks t
  WHERE ((t.id = job_artifacts.task_id) AND ((t.status)::text = 'complete'::text) AND (t.claim_token = job_artifacts.claim_token)))));

CREATE POLICY users_read_permissions_of_their_nodes ON public.nodes_permissions FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.nodes n
  WHERE (n.id = nodes_permissions.node_id))));

CREATE POLICY users_read_their_cursors ON public.consumer_offset_t FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.event_sink_t s
  WHERE (s.name = consumer_offset_t.sink))));

CREATE POLICY users_read_their_dead_letters ON public.event_dead_letter_t FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.event_sink_t s
  WHERE (s.name = event_dead_letter_t.sink))));

CREATE POLICY users_read_their_discord_link ON public.discord_links FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY users_read_their_edges ON public.task_edges FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.job_tasks t
  WHERE (t.id = task_edges.task_id))));

CREATE POLICY users_read_their_events ON public.event_store_t FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY users_read_their_jobs ON public.jobs FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY users_read_their_leases ON public.task_leases FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.job_tasks t
  WHERE (t.id = task_leases.task_id))));

CREATE POLICY users_read_their_logs ON public.task_logs FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.jobs j
  WHERE (j.id = task_logs.job_id))));

CREATE POLICY users_read_their_nodes ON public.nodes FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY users_read_their_runs ON public.schedule_fires FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.schedule_t s
  WHERE (s.schedule_id = schedule_fires.schedule_id))));

CREATE POLICY users_read_their_schedules ON public.schedule_t FOR SELECT TO authenticated USING ((host_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY users_read_their_sinks ON public.event_sink_t FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY users_read_their_tasks ON public.job_tasks FOR SELECT TO authenticated USING ((EXISTS ( SELECT
   FROM public.jobs j
  WHERE (j.id = job_tasks.job_id))));

CREATE POLICY users_read_themselves ON public.users FOR SELECT TO authenticated USING ((id = ( SELECT auth.uid() AS uid)));

CREATE POLICY users_read_what_they_keep ON public.vault_usage FOR SELECT TO authenticated USING ((user_id = ( SELECT auth.uid() AS uid)));

ALTER TABLE public.vault_usage ENABLE ROW LEVEL SECURITY;

ALTER TABLE shoal.chores ENABLE ROW LEVEL SECURITY;

ALTER TABLE shoal.consumed_events ENABLE ROW LEVEL SECURITY;

ALTER TABLE shoal.deleted_jobs ENABLE ROW LEVEL SECURITY;

CREATE POLICY service_does_everything ON shoal.chores TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON shoal.deleted_jobs TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_does_everything ON shoal.vault_quota TO service_role USING (true) WITH CHECK (true);

CREATE POLICY service_reads_everything ON shoal.consumed_events FOR SELECT TO service_role USING (true);

CREATE POLICY service_reads_everything ON shoal.sink_secrets FOR SELECT TO service_role USING (true);

ALTER TABLE shoal.sink_secrets ENABLE ROW LEVEL SECURITY;

ALTER TABLE shoal.vault_quota ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA auth TO anon;
GRANT USAGE ON SCHEMA auth TO authenticated;
GRANT USAGE ON SCHEMA auth TO service_role;

GRANT USAGE ON SCHEMA public TO anon;
GRANT USAGE ON SCHEMA public TO authenticated;
GRANT USAGE ON SCHEMA public TO service_role;
GRANT USAGE ON SCHEMA public TO shoal_worker;

GRANT USAGE ON SCHEMA shoal TO anon;
GRANT USAGE ON SCHEMA shoal TO authenticated;
GRANT USAGE ON SCHEMA shoal TO service_role;
GRANT USAGE ON SCHEMA shoal TO shoal_worker;

GRANT ALL ON FUNCTION auth.jwt() TO anon;
GRANT ALL ON FUNCTION auth.jwt() TO authenticated;
GRANT ALL ON FUNCTION auth.jwt() TO service_role;

GRANT ALL ON FUNCTION auth.uid() TO anon;
GRANT ALL ON FUNCTION auth.uid() TO authenticated;
GRANT ALL ON FUNCTION auth.uid() TO service_role;

REVOKE ALL ON FUNCTION public.add_schedule(p_schedule jsonb, p_host_id uuid, p_on_conflict text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.add_schedule(p_schedule jsonb, p_host_id uuid, p_on_conflict text) TO authenticated;
GRANT ALL ON FUNCTION public.add_schedule(p_schedule jsonb, p_host_id uuid, p_on_conflict text) TO service_role;

REVOKE ALL ON FUNCTION public.add_webhook(p_url text, p_patterns text[], p_user_id uuid, OUT name text, OUT secret text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.add_webhook(p_url text, p_patterns text[], p_user_id uuid, OUT name text, OUT secret text) TO authenticated;
GRANT ALL ON FUNCTION public.add_webhook(p_url text, p_patterns text[], p_user_id uuid, OUT name text, OUT secret text) TO service_role;

REVOKE ALL ON FUNCTION public.cancel_job(p_job_id uuid, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cancel_job(p_job_id uuid, p_reason text) TO authenticated;
GRANT ALL ON FUNCTION public.cancel_job(p_job_id uuid, p_reason text) TO service_role;

REVOKE ALL ON FUNCTION public.cancel_task(p_task_id uuid, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cancel_task(p_task_id uuid, p_reason text) TO authenticated;
GRANT ALL ON FUNCTION public.cancel_task(p_task_id uuid, p_reason text) TO service_role;

REVOKE ALL ON FUNCTION public.change_node(p_node_id uuid, p_changes jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.change_node(p_node_id uuid, p_changes jsonb) TO authenticated;
GRANT ALL ON FUNCTION public.change_node(p_node_id uuid, p_changes jsonb) TO service_role;

REVOKE ALL ON FUNCTION public.claim_node(p_claim_code text, p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.claim_node(p_claim_code text, p_name text) TO authenticated;
GRANT ALL ON FUNCTION public.claim_node(p_claim_code text, p_name text) TO service_role;

REVOKE ALL ON FUNCTION shoal.uuid7() FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.uuid7() TO service_role;

GRANT SELECT ON TABLE public.job_tasks TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.job_tasks TO service_role;

REVOKE ALL ON FUNCTION public.claim_tasks(p_worker_id text, p_max_tasks integer, p_task_types text[], p_claim_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.claim_tasks(p_worker_id text, p_max_tasks integer, p_task_types text[], p_claim_token uuid) TO service_role;
GRANT ALL ON FUNCTION public.claim_tasks(p_worker_id text, p_max_tasks integer, p_task_types text[], p_claim_token uuid) TO shoal_worker;

REVOKE ALL ON FUNCTION public.complete_task(p_task_id uuid, p_worker_id text, p_output jsonb, p_claim_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.complete_task(p_task_id uuid, p_worker_id text, p_output jsonb, p_claim_token uuid) TO service_role;
GRANT ALL ON FUNCTION public.complete_task(p_task_id uuid, p_worker_id text, p_output jsonb, p_claim_token uuid) TO shoal_worker;

REVOKE ALL ON FUNCTION public.create_job(p_type text, p_params jsonb, p_user_id uuid, p_priority integer, p_unique_key text, p_on_conflict text, p_run_at timestamp with time zone, p_idempotency_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.create_job(p_type text, p_params jsonb, p_user_id uuid, p_priority integer, p_unique_key text, p_on_conflict text, p_run_at timestamp with time zone, p_idempotency_key text) TO authenticated;
GRANT ALL ON FUNCTION public.create_job(p_type text, p_params jsonb, p_user_id uuid, p_priority integer, p_unique_key text, p_on_conflict text, p_run_at timestamp with time zone, p_idempotency_key text) TO service_role;

REVOKE ALL ON FUNCTION public.create_jobs(p_jobs jsonb, p_user_id uuid, p_on_conflict text, p_idempotency_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.create_jobs(p_jobs jsonb, p_user_id uuid, p_on_conflict text, p_idempotency_key text) TO authenticated;
GRANT ALL ON FUNCTION public.create_jobs(p_jobs jsonb, p_user_id uuid, p_on_conflict text, p_idempotency_key text) TO service_role;

REVOKE ALL ON FUNCTION public.delete_schedule(p_schedule_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.delete_schedule(p_schedule_id uuid) TO authenticated;
GRANT ALL ON FUNCTION public.delete_schedule(p_schedule_id uuid) TO service_role;

REVOKE ALL ON FUNCTION public.emit_event(p_type text, p_payload jsonb, p_key text, p_user_id uuid, p_event_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.emit_event(p_type text, p_payload jsonb, p_key text, p_user_id uuid, p_event_id uuid) TO authenticated;
GRANT ALL ON FUNCTION public.emit_event(p_type text, p_payload jsonb, p_key text, p_user_id uuid, p_event_id uuid) TO service_role;

REVOKE ALL ON FUNCTION public.fail_task(p_task_id uuid, p_worker_id text, p_error text, p_claim_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.fail_task(p_task_id uuid, p_worker_id text, p_error text, p_claim_token uuid) TO service_role;
GRANT ALL ON FUNCTION public.fail_task(p_task_id uuid, p_worker_id text, p_error text, p_claim_token uuid) TO shoal_worker;

REVOKE ALL ON FUNCTION public.forget_dead_letters(p_sink text, p_event_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.forget_dead_letters(p_sink text, p_event_ids uuid[]) TO authenticated;
GRANT ALL ON FUNCTION public.forget_dead_letters(p_sink text, p_event_ids uuid[]) TO service_role;

REVOKE ALL ON FUNCTION public.heartbeat_task(p_task_id uuid, p_worker_id text, p_claim_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.heartbeat_task(p_task_id uuid, p_worker_id text, p_claim_token uuid) TO service_role;
GRANT ALL ON FUNCTION public.heartbeat_task(p_task_id uuid, p_worker_id text, p_claim_token uuid) TO shoal_worker;

REVOKE ALL ON FUNCTION public.limit_task_type(p_task_type text, p_max_running integer, p_rate_per_s double precision, p_burst integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.limit_task_type(p_task_type text, p_max_running integer, p_rate_per_s double precision, p_burst integer) TO service_role;

REVOKE ALL ON FUNCTION public.limit_vault(p_user_id uuid, p_max_bytes bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.limit_vault(p_user_id uuid, p_max_bytes bigint) TO service_role;

REVOKE ALL ON FUNCTION public.pause_event_sink(p_name text, p_because text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.pause_event_sink(p_name text, p_because text) TO authenticated;
GRANT ALL ON FUNCTION public.pause_event_sink(p_name text, p_because text) TO service_role;

REVOKE ALL ON FUNCTION public.pause_schedule(p_schedule_id uuid, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.pause_schedule(p_schedule_id uuid, p_reason text) TO authenticated;
GRANT ALL ON FUNCTION public.pause_schedule(p_schedule_id uuid, p_reason text) TO service_role;

REVOKE ALL ON FUNCTION public.pause_task_type(p_task_type text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.pause_task_type(p_task_type text, p_reason text) TO service_role;

REVOKE ALL ON FUNCTION public.purge_jobs(p_statuses text[], p_type text, p_finished_before timestamp with time zone, p_user_id uuid, p_dry_run boolean, OUT jobs integer, OUT artifacts integer, OUT bytes bigint, OUT more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.purge_jobs(p_statuses text[], p_type text, p_finished_before timestamp with time zone, p_user_id uuid, p_dry_run boolean, OUT jobs integer, OUT artifacts integer, OUT bytes bigint, OUT more boolean) TO authenticated;
GRANT ALL ON FUNCTION public.purge_jobs(p_statuses text[], p_type text, p_finished_before timestamp with time zone, p_user_id uuid, p_dry_run boolean, OUT jobs integer, OUT artifacts integer, OUT bytes bigint, OUT more boolean) TO service_role;

REVOKE ALL ON FUNCTION public.reclaim_stale_tasks() FROM PUBLIC;
GRANT ALL ON FUNCTION public.reclaim_stale_tasks() TO service_role;
GRANT ALL ON FUNCTION public.reclaim_stale_tasks() TO shoal_worker;

REVOKE ALL ON FUNCTION public.remove_event_sink(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.remove_event_sink(p_name text) TO authenticated;
GRANT ALL ON FUNCTION public.remove_event_sink(p_name text) TO service_role;

REVOKE ALL ON FUNCTION public.replay_dead_letters(p_sink text, p_event_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.replay_dead_letters(p_sink text, p_event_ids uuid[]) TO authenticated;
GRANT ALL ON FUNCTION public.replay_dead_letters(p_sink text, p_event_ids uuid[]) TO service_role;

REVOKE ALL ON FUNCTION public.replay_events(p_sink text, p_from timestamp with time zone, p_until timestamp with time zone, p_types text[], p_event_ids uuid[], p_at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.replay_events(p_sink text, p_from timestamp with time zone, p_until timestamp with time zone, p_types text[], p_event_ids uuid[], p_at_most integer) TO authenticated;
GRANT ALL ON FUNCTION public.replay_events(p_sink text, p_from timestamp with time zone, p_until timestamp with time zone, p_types text[], p_event_ids uuid[], p_at_most integer) TO service_role;

REVOKE ALL ON FUNCTION public.resume_schedule(p_schedule_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.resume_schedule(p_schedule_id uuid) TO authenticated;
GRANT ALL ON FUNCTION public.resume_schedule(p_schedule_id uuid) TO service_role;

REVOKE ALL ON FUNCTION public.resume_task_type(p_task_type text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.resume_task_type(p_task_type text) TO service_role;

REVOKE ALL ON FUNCTION public.retry_job(p_job_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.retry_job(p_job_id uuid) TO authenticated;
GRANT ALL ON FUNCTION public.retry_job(p_job_id uuid) TO service_role;

REVOKE ALL ON FUNCTION public.retry_task(p_task_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.retry_task(p_task_id uuid) TO authenticated;
GRANT ALL ON FUNCTION public.retry_task(p_task_id uuid) TO service_role;

REVOKE ALL ON FUNCTION public.revoke_node(p_node_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.revoke_node(p_node_id uuid) TO authenticated;
GRANT ALL ON FUNCTION public.revoke_node(p_node_id uuid) TO service_role;

REVOKE ALL ON FUNCTION public.run_schedule(p_schedule_id uuid, p_fire_ts timestamp with time zone[], p_kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.run_schedule(p_schedule_id uuid, p_fire_ts timestamp with time zone[], p_kind text) TO authenticated;
GRANT ALL ON FUNCTION public.run_schedule(p_schedule_id uuid, p_fire_ts timestamp with time zone[], p_kind text) TO service_role;

REVOKE ALL ON FUNCTION public.set_node_access(p_node_id uuid, p_access jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.set_node_access(p_node_id uuid, p_access jsonb) TO authenticated;
GRANT ALL ON FUNCTION public.set_node_access(p_node_id uuid, p_access jsonb) TO service_role;

REVOKE ALL ON FUNCTION public.store_config(p_body text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.store_config(p_body text) TO authenticated;
GRANT ALL ON FUNCTION public.store_config(p_body text) TO service_role;

REVOKE ALL ON FUNCTION shoal.add_artifacts(p_worker_id text, p_task_id uuid, p_claim_token uuid, p_artifacts jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.add_artifacts(p_worker_id text, p_task_id uuid, p_claim_token uuid, p_artifacts jsonb) TO service_role;
GRANT ALL ON FUNCTION shoal.add_artifacts(p_worker_id text, p_task_id uuid, p_claim_token uuid, p_artifacts jsonb) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.add_at(counters integer[], positions integer[], ns integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.add_logs(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_at timestamp with time zone[], p_levels text[], p_lines text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.add_logs(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_at timestamp with time zone[], p_levels text[], p_lines text[]) TO service_role;
GRANT ALL ON FUNCTION shoal.add_logs(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_at timestamp with time zone[], p_levels text[], p_lines text[]) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.add_sink(p_name text, p_kind text, p_patterns text[], p_user_id uuid, p_config jsonb, p_secret text, p_max_attempts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.add_sink(p_name text, p_kind text, p_patterns text[], p_user_id uuid, p_config jsonb, p_secret text, p_max_attempts integer) TO service_role;

REVOKE ALL ON FUNCTION shoal.adopt_artifact() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.advance_cursors(p_sink text, p_holder uuid, p_partitions smallint[], p_positions bigint[], p_done boolean, p_lease_s real) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.advance_cursors(p_sink text, p_holder uuid, p_partitions smallint[], p_positions bigint[], p_done boolean, p_lease_s real) TO service_role;
GRANT ALL ON FUNCTION shoal.advance_cursors(p_sink text, p_holder uuid, p_partitions smallint[], p_positions bigint[], p_done boolean, p_lease_s real) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.append_events(p_aggregate_type text, p_aggregate_ids text[], p_event_types text[], p_payloads jsonb[], p_user_ids uuid[], p_aggregate_versions bigint[], p_event_ids uuid[], p_event_topics text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.append_events(p_aggregate_type text, p_aggregate_ids text[], p_event_types text[], p_payloads jsonb[], p_user_ids uuid[], p_aggregate_versions bigint[], p_event_ids uuid[], p_event_topics text[]) TO service_role;

REVOKE ALL ON FUNCTION shoal.append_events_of_changed_jobs() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.append_events_of_changed_tasks() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.append_events_of_new_jobs() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.are_patterns(p_patterns text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.backoff(p_base_s real, p_attempt integer, p_chance double precision) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.claim_fleet_tasks(p_max_tasks integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.claim_fleet_tasks(p_max_tasks integer) TO service_role;

REVOKE ALL ON FUNCTION shoal.claim_mesh_task() FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.claim_mesh_task() TO service_role;

REVOKE ALL ON FUNCTION shoal.claim_work(p_worker_id text, p_max_tasks integer, p_task_types text[], p_lease_s integer, p_claim_token uuid, p_repeated boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.claim_work(p_worker_id text, p_max_tasks integer, p_task_types text[], p_lease_s integer, p_claim_token uuid, p_repeated boolean) TO service_role;
GRANT ALL ON FUNCTION shoal.claim_work(p_worker_id text, p_max_tasks integer, p_task_types text[], p_lease_s integer, p_claim_token uuid, p_repeated boolean) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.complete_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_outputs jsonb[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.complete_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_outputs jsonb[]) TO service_role;
GRANT ALL ON FUNCTION shoal.complete_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_outputs jsonb[]) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.count_artifact_changes() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.count_job_change() FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.count_job_change() TO service_role;

REVOKE ALL ON FUNCTION shoal.count_kept_bytes(p_user_ids uuid[], p_bytes bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.count_new_tasks() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.count_task_changes() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.delete_jobs(p_job_ids uuid[], OUT jobs integer, OUT artifacts integer, OUT bytes bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.delete_old_events(p_keep interval, OUT deleted integer, OUT untold integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.delete_old_events(p_keep interval, OUT deleted integer, OUT untold integer) TO service_role;

REVOKE ALL ON FUNCTION shoal.delete_old_fires(p_older_than interval, p_at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.delete_old_fires(p_older_than interval, p_at_most integer) TO service_role;

REVOKE ALL ON FUNCTION shoal.delete_old_jobs(p_keep_ended interval, p_keep_failed interval, OUT jobs integer, OUT artifacts integer, OUT bytes bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.delete_old_jobs(p_keep_ended interval, p_keep_failed interval, OUT jobs integer, OUT artifacts integer, OUT bytes bigint) TO service_role;

REVOKE ALL ON FUNCTION shoal.delete_old_keys() FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.delete_old_keys() TO service_role;

REVOKE ALL ON FUNCTION shoal.delete_old_lines(p_keep interval) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.delete_old_lines(p_keep interval) TO service_role;

REVOKE ALL ON FUNCTION shoal.delete_told_messages(p_at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.delete_told_messages(p_at_most integer) TO service_role;

REVOKE ALL ON FUNCTION shoal.disown_objects(p_paths text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.disown_objects(p_paths text[]) TO service_role;

REVOKE ALL ON FUNCTION shoal.elect_scheduler(p_instance_id text, p_lease_s real, OUT elected_at timestamp with time zone, OUT free_in_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.elect_scheduler(p_instance_id text, p_lease_s real, OUT elected_at timestamp with time zone, OUT free_in_s double precision) TO service_role;

REVOKE ALL ON FUNCTION shoal.job_progress(status text, names text[], ends real[], totals integer[], dones integer[], message text) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.job_progress(status text, names text[], ends real[], totals integer[], dones integer[], message text) TO service_role;

GRANT SELECT ON TABLE public.jobs TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.jobs TO service_role;

REVOKE ALL ON FUNCTION shoal.ended_jobs(p_user_id uuid, p_statuses text[], p_type text, p_finished_before timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.event_is_kept(p_event_type text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.event_is_wanted(p_event_type text) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.event_is_wanted(p_event_type text) TO service_role;

REVOKE ALL ON FUNCTION shoal.event_matches(p_event_type text, p_patterns text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.fail_event(p_sink text, p_holder uuid, p_partition smallint, p_position bigint, p_event_id uuid, p_kind text, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.fail_event(p_sink text, p_holder uuid, p_partition smallint, p_position bigint, p_event_id uuid, p_kind text, p_error text) TO service_role;
GRANT ALL ON FUNCTION shoal.fail_event(p_sink text, p_holder uuid, p_partition smallint, p_position bigint, p_event_id uuid, p_kind text, p_error text) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.fail_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_errors text[], p_permanent boolean[], p_retry_after_s real[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.fail_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_errors text[], p_permanent boolean[], p_retry_after_s real[]) TO service_role;
GRANT ALL ON FUNCTION shoal.fail_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_errors text[], p_permanent boolean[], p_retry_after_s real[]) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.find_event_work() FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.find_event_work() TO service_role;

REVOKE ALL ON FUNCTION shoal.fire_schedules(p_instance_id text, p_elected_at timestamp with time zone, p_schedule_ids uuid[], p_versions bigint[], p_seen timestamp with time zone[], p_next_fires timestamp with time zone[], p_next_runs timestamp with time zone[], p_runs integer[], p_run_ids uuid[], p_fire_ts timestamp with time zone[], p_since timestamp with time zone[], OUT moved integer, OUT runs integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.fire_schedules(p_instance_id text, p_elected_at timestamp with time zone, p_schedule_ids uuid[], p_versions bigint[], p_seen timestamp with time zone[], p_next_fires timestamp with time zone[], p_next_runs timestamp with time zone[], p_runs integer[], p_run_ids uuid[], p_fire_ts timestamp with time zone[], p_since timestamp with time zone[], OUT moved integer, OUT runs integer) TO service_role;

REVOKE ALL ON FUNCTION shoal.first_jobs(p_job_ids uuid[], p_tasks integer[], p_at_most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.first_wrong_job(p_user_id uuid, p_jobs jsonb, p_on_conflict text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.forget_empty_limit(p_task_type text) FROM PUBLIC;

GRANT SELECT ON TABLE public.consumer_offset_t TO authenticated;
GRANT SELECT ON TABLE public.consumer_offset_t TO service_role;

REVOKE ALL ON FUNCTION shoal.free_cursors(p_sink text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.graph_entries(p_job_ids uuid[], p_graphs jsonb[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.heal_event_order() FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.heal_event_order() TO service_role;

REVOKE ALL ON FUNCTION shoal.heartbeat_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_progress real[], p_messages text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.heartbeat_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_progress real[], p_messages text[]) TO service_role;
GRANT ALL ON FUNCTION shoal.heartbeat_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_progress real[], p_messages text[]) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.insert_graphs(p_job_ids uuid[], p_graphs jsonb[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.insert_jobs(p_user_id uuid, p_jobs jsonb, p_on_conflict text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.insert_plan_tasks(p_job_ids uuid[], p_run_at timestamp with time zone[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.is_service() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.job_event_payload(p_job public.jobs) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.job_of_task(p_task_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.job_owner(p_user_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.lock_limits(p_task_types text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.lock_own_node(p_node_id uuid) FROM PUBLIC;

GRANT SELECT ON TABLE public.schedule_t TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.schedule_t TO service_role;

REVOKE ALL ON FUNCTION shoal.lock_schedule(p_schedule_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.lock_tasks(p_task_ids uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.lock_tasks_and_descendants(p_task_ids uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.microseconds(p_moment timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.next_due_s(p_task_types text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.next_due_s(p_task_types text[]) TO service_role;
GRANT ALL ON FUNCTION shoal.next_due_s(p_task_types text[]) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.next_turn(p_job_id uuid, p_user_id uuid, p_priority integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.node_event(p_node_id uuid, p_type text) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.node_event(p_node_id uuid, p_type text) TO service_role;

REVOKE ALL ON FUNCTION shoal.order_outbox(p_at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.order_outbox(p_at_most integer) TO service_role;
GRANT ALL ON FUNCTION shoal.order_outbox(p_at_most integer) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.park_schedule(p_schedule_id uuid, p_version bigint, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.park_schedule(p_schedule_id uuid, p_version bigint, p_error text) TO service_role;

REVOKE ALL ON FUNCTION shoal.partition_of(p_aggregate_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.phases_of_type(p_type text, OUT names text[], OUT ends real[], OUT zeros integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.place_in_turn(p_position bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.plan_jobs(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_graphs jsonb[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.plan_jobs(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_graphs jsonb[]) TO service_role;
GRANT ALL ON FUNCTION shoal.plan_jobs(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_graphs jsonb[]) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.promote_due_tasks() FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.promote_due_tasks() TO service_role;
GRANT ALL ON FUNCTION shoal.promote_due_tasks() TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.redeem_discord_code(p_code_hash bytea, p_discord_id text, p_discord_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.redeem_discord_code(p_code_hash bytea, p_discord_id text, p_discord_name text) TO service_role;

REVOKE ALL ON FUNCTION shoal.refuse(p_kind text, p_code text, p_message text, p_hint text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.register_consumer(p_name text, p_patterns text[], p_max_attempts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.register_consumer(p_name text, p_patterns text[], p_max_attempts integer) TO service_role;
GRANT ALL ON FUNCTION shoal.register_consumer(p_name text, p_patterns text[], p_max_attempts integer) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.register_job_type(p_type text, p_version text, p_params_schema jsonb, p_phases jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.register_job_type(p_type text, p_version text, p_params_schema jsonb, p_phases jsonb) TO service_role;
GRANT ALL ON FUNCTION shoal.register_job_type(p_type text, p_version text, p_params_schema jsonb, p_phases jsonb) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.release_cursors(p_sink text, p_holder uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.release_cursors(p_sink text, p_holder uuid) TO service_role;
GRANT ALL ON FUNCTION shoal.release_cursors(p_sink text, p_holder uuid) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.release_dependants(p_task_ids uuid[], p_failed boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.release_queued_runs(p_at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.release_queued_runs(p_at_most integer) TO service_role;

REVOKE ALL ON FUNCTION shoal.release_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.release_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[]) TO service_role;
GRANT ALL ON FUNCTION shoal.release_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[]) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.remember_deleted_jobs() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.renew_scheduler(p_instance_id text, p_elected_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.renew_scheduler(p_instance_id text, p_elected_at timestamp with time zone) TO service_role;

REVOKE ALL ON FUNCTION shoal.require_own_sink(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.require_visible_job(p_job_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.resign_scheduler(p_instance_id text, p_elected_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.resign_scheduler(p_instance_id text, p_elected_at timestamp with time zone) TO service_role;

REVOKE ALL ON FUNCTION shoal.retry_tasks(p_job_id uuid, p_task_ids uuid[]) FROM PUBLIC;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.task_limits TO service_role;

REVOKE ALL ON FUNCTION shoal.room_within(p_limit public.task_limits) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.run_event_id(p_schedule_id uuid, p_fire_ts timestamp with time zone, p_kind text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.run_payload(p_schedule_id uuid, p_name text, p_fire_ts timestamp with time zone, p_kind text, p_data text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.schedule_host(p_host_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.schedule_says(p_schedule public.schedule_t) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.skip_unwanted_events() FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.skip_unwanted_events() TO service_role;

REVOKE ALL ON FUNCTION shoal.snooze_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_after_s real[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.snooze_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_after_s real[]) TO service_role;
GRANT ALL ON FUNCTION shoal.snooze_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_after_s real[]) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.spend_tokens(p_places tid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.spread_failure(p_task_ids uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.start_job_of_event(p_event_id uuid) FROM PUBLIC;

GRANT SELECT ON TABLE public.schedule_fires TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.schedule_fires TO service_role;

REVOKE ALL ON FUNCTION shoal.start_job_of_run(p_schedule public.schedule_t, p_run public.schedule_fires) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.start_jobs_of_events(p_sink text, p_at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.start_jobs_of_events(p_sink text, p_at_most integer) TO service_role;

REVOKE ALL ON FUNCTION shoal.start_scheduled_job(p_event_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.start_scheduled_job(p_event_id uuid) TO service_role;

REVOKE ALL ON FUNCTION shoal.take_events(p_sink text, p_holder uuid, p_lease_s real, p_partitions integer, p_at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shoal.take_events(p_sink text, p_holder uuid, p_lease_s real, p_partitions integer, p_at_most integer) TO service_role;
GRANT ALL ON FUNCTION shoal.take_events(p_sink text, p_holder uuid, p_lease_s real, p_partitions integer, p_at_most integer) TO shoal_worker;

REVOKE ALL ON FUNCTION shoal.take_idempotency_key(p_user_id uuid, p_key text, p_request jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.tell_of_schedules(p_schedule_ids uuid[], p_event_type text) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.tokens_of(p_limit public.task_limits) FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.wake_for_limits() FROM PUBLIC;

REVOKE ALL ON FUNCTION shoal.wrong_in_graphs(p_job_ids uuid[], p_graphs jsonb[]) FROM PUBLIC;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.access_keys TO service_role;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.configs TO service_role;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.data_sets TO service_role;

GRANT SELECT ON TABLE public.dead_letters TO authenticated;
GRANT SELECT ON TABLE public.dead_letters TO service_role;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.discord_link_codes TO service_role;

GRANT SELECT ON TABLE public.discord_links TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.discord_links TO service_role;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.discord_server_filters TO service_role;

GRANT SELECT ON TABLE public.event_dead_letter_t TO authenticated;
GRANT SELECT ON TABLE public.event_dead_letter_t TO service_role;

GRANT SELECT ON TABLE public.event_sink_t TO authenticated;
GRANT SELECT ON TABLE public.event_sink_t TO service_role;

GRANT SELECT ON TABLE public.event_store_t TO authenticated;
GRANT SELECT ON TABLE public.event_store_t TO service_role;

GRANT SELECT ON TABLE public.job_artifacts TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.job_artifacts TO service_role;

GRANT SELECT ON TABLE public.job_types TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.job_types TO service_role;

GRANT SELECT ON TABLE public.nodes TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.nodes TO service_role;

GRANT SELECT ON TABLE public.nodes_permissions TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.nodes_permissions TO service_role;

GRANT SELECT ON TABLE public.outbox_message_t TO service_role;

GRANT SELECT ON TABLE public.outbox_partition_t TO authenticated;
GRANT SELECT ON TABLE public.outbox_partition_t TO service_role;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.scheduler_lock_t TO service_role;

GRANT SELECT ON TABLE public.task_edges TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.task_edges TO service_role;

GRANT SELECT ON TABLE public.task_leases TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.task_leases TO service_role;

GRANT SELECT ON TABLE public.task_logs TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.task_logs TO service_role;

GRANT SELECT ON TABLE public.users TO authenticated;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.users TO service_role;

GRANT SELECT ON TABLE public.vault_usage TO authenticated;
GRANT SELECT ON TABLE public.vault_usage TO service_role;

GRANT SELECT,INSERT,UPDATE ON TABLE shoal.chores TO service_role;

GRANT SELECT ON TABLE shoal.consumed_events TO service_role;

GRANT SELECT,DELETE,UPDATE ON TABLE shoal.deleted_jobs TO service_role;

GRANT SELECT ON TABLE shoal.migrations TO service_role;
GRANT SELECT ON TABLE shoal.migrations TO shoal_worker;

GRANT SELECT ON TABLE shoal.sink_secrets TO service_role;

GRANT SELECT,INSERT,UPDATE ON TABLE shoal.vault_quota TO service_role;
