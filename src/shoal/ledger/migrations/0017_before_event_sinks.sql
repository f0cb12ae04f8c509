-- What people do with events: emit their own, have them sent to their webhooks, have them told again; and the
-- consumer that is always there, which starts jobs.

-- add_webhook: tell a URL of events, signed with the secret that is returned with the name of the new sink.
-- A user's tells the user's own events; a service's those of p_user_id, or of everybody.
CREATE FUNCTION public.add_webhook(
  p_url text, p_patterns text[] DEFAULT '{*}', p_user_id uuid DEFAULT NULL, OUT name text, OUT secret text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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
$$;

CREATE FUNCTION shoal.are_patterns(p_patterns text[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT cardinality(p_patterns) BETWEEN 1 AND 100
     AND (SELECT bool_and(p IS NOT NULL AND p ~ '^([a-z][a-z0-9_.-]{0,125}|[a-z][a-z0-9_.-]{0,123}\.\*|\*)$')
            FROM unnest(p_patterns) AS p)
$$;

-- A sink that the caller may change, by its name: a user's own webhooks, any for the service.
CREATE FUNCTION shoal.require_own_sink(p_name text) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.event_sink_t s
                  WHERE s.name = p_name AND (shoal.is_service() OR s.user_id = auth.uid())) THEN
    PERFORM shoal.refuse('SH404', 'sink_not_found', format('There is no sink %s.', p_name),
      'shoal events sinks lists them.');
  END IF;
END
$$;

-- remove_event_sink: tell a sink no more; its cursors and dead letters go with it.
CREATE FUNCTION public.remove_event_sink(p_name text) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.require_own_sink(p_name);
  DELETE FROM public.event_sink_t s WHERE s.name = p_name;
  PERFORM pg_notify('shoal_events', '');
END
$$;

-- pause_event_sink: hold a sink up, with the reason; null goes on where it was held up.
CREATE FUNCTION public.pause_event_sink(p_name text, p_because text) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.require_own_sink(p_name);
  UPDATE public.event_sink_t s SET paused_because = p_because WHERE s.name = p_name;
  UPDATE public.consumer_offset_t k SET retry_at = NULL WHERE k.sink = p_name AND p_because IS NULL;
  PERFORM pg_notify('shoal_events', '');
END
$$;

-- emit_event: append an event of one's own. Its type begins with user., its order is kept for p_key. Returns
-- its id.
--   p_event_id  repeating the call with the same id appends nothing
CREATE FUNCTION public.emit_event(
  p_type text, p_payload jsonb DEFAULT '{}', p_key text DEFAULT '', p_user_id uuid DEFAULT NULL,
  p_event_id uuid DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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
$$;

-- replay_events: tell a sink again what happened between two moments, or these events. Returns how many.
-- They keep their ids; they come after what is on its way to it. At most p_at_most, the oldest first.
CREATE FUNCTION public.replay_events(
  p_sink text, p_from timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL, p_types text[] DEFAULT NULL,
  p_event_ids uuid[] DEFAULT NULL, p_at_most int DEFAULT 100000
) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- replay_dead_letters: try again to tell a sink these events, or all that it could not be told. Returns how
-- many.
CREATE FUNCTION public.replay_dead_letters(p_sink text, p_event_ids uuid[] DEFAULT NULL) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- forget_dead_letters: give these up, or all of a sink. Returns how many.
CREATE FUNCTION public.forget_dead_letters(p_sink text, p_event_ids uuid[] DEFAULT NULL) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- start_jobs_of_events: the consumer of job.start, a turn of it: starts the jobs of the events in one free
-- partition and moves its cursor, all in one transaction. What a schedule emitted is started by the rules of
-- the schedule; else a job belongs to whose event it is. Nothing that the payload says about an owner counts.
-- An event is dealt with once, also when it is told again. One that cannot be started goes to the dead letters
-- with the reason; when it is the database that fails, nothing has happened. Returns how many events, or null
-- when no partition is free.
-- Locks: a cursor that is free; then what starting jobs locks.
CREATE FUNCTION shoal.start_jobs_of_events(p_sink text, p_at_most int DEFAULT 100) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
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

-- Start the job of one job.start event.
CREATE FUNCTION shoal.start_job_of_event(p_event_id uuid) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- The consumer of job.start that is always there.
SELECT shoal.add_sink('start-jobs', 'jobs', '{job.start}');

REVOKE ALL ON FUNCTION
  shoal.are_patterns, shoal.require_own_sink, shoal.start_jobs_of_events, shoal.start_job_of_event,
  public.add_webhook, public.remove_event_sink, public.pause_event_sink, public.emit_event, public.replay_events,
  public.replay_dead_letters, public.forget_dead_letters FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.start_jobs_of_events TO service_role;
GRANT EXECUTE ON FUNCTION
  public.add_webhook, public.remove_event_sink, public.pause_event_sink, public.emit_event, public.replay_events,
  public.replay_dead_letters, public.forget_dead_letters TO authenticated, service_role;
