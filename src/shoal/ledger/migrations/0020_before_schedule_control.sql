-- What people do with schedules: add, pause, resume, run now, run for times that have passed, delete. A user
-- may do it to their own, the service to all; somebody else's is not found.

-- Lock a schedule of the caller's; refuses one that is not there.
CREATE FUNCTION shoal.lock_schedule(p_schedule_id uuid) RETURNS public.schedule_t LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- add_schedule: a schedule that runs from now on; returns its id. Whoever leads is woken.
--   p_schedule     the columns of schedule_t by their names; what is left out has its default. How far it is and
--                  whose it is are not among them.
--   p_host_id      for whom; a user adds schedules only for themselves and leaves it out
--   p_on_conflict  what a second one of the same name gets: reject (an error), or replace (the schedule becomes
--                  this one and keeps its id, its runs, and whether it is paused; what did not change goes on)
CREATE FUNCTION public.add_schedule(p_schedule jsonb, p_host_id uuid DEFAULT NULL, p_on_conflict text DEFAULT 'reject')
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- For whom the caller may add a schedule.
CREATE FUNCTION shoal.schedule_host(p_host_id uuid) RETURNS uuid LANGUAGE plpgsql STABLE SET search_path = '' AS $$
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

-- What a schedule is, without how far it is.
CREATE FUNCTION shoal.schedule_says(p_schedule public.schedule_t) RETURNS jsonb LANGUAGE sql STABLE
SET search_path = '' AS $$
  SELECT to_jsonb(p_schedule) - ARRAY['host_id', 'next_run_ts', 'next_fire_ts', 'aggregate_version', 'active', 'runs',
    'paused_at', 'pause_reason', 'parked_at', 'error', 'ended_at', 'created_at', 'updated_at']
$$;

-- pause_schedule: fire it no more until it is resumed. One that has ended stays as it is.
CREATE FUNCTION public.pause_schedule(p_schedule_id uuid, p_reason text DEFAULT 'Paused.') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- resume_schedule: fire it again, from the first occurrence after now; also one that was parked. What its time
-- passed by meanwhile does not run.
CREATE FUNCTION public.resume_schedule(p_schedule_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- delete_schedule: with its runs. The jobs it has started go on; a run whose job has not started does not.
CREATE FUNCTION public.delete_schedule(p_schedule_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.lock_schedule(p_schedule_id);
  PERFORM shoal.tell_of_schedules(ARRAY[p_schedule_id], 'schedule.deleted');
  DELETE FROM public.schedule_t s WHERE s.schedule_id = p_schedule_id;
  DELETE FROM public.schedule_fires f WHERE f.schedule_id = p_schedule_id;
END
$$;

-- run_schedule: fire it for these moments, whatever its own times are; also one that is paused or has ended.
-- Its times go on as before, and these runs do not count for its most. Returns how many are new: the same moment
-- runs once for each kind.
--   p_kind  manual, or backfill
CREATE FUNCTION public.run_schedule(p_schedule_id uuid, p_fire_ts timestamptz[], p_kind text DEFAULT 'manual')
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- delete_old_fires: forget runs, a batch; returns how many. Those that wait for a job stay.
CREATE FUNCTION shoal.delete_old_fires(p_older_than interval, p_at_most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

REVOKE ALL ON FUNCTION
  shoal.lock_schedule, shoal.schedule_host, shoal.schedule_says, shoal.delete_old_fires,
  public.add_schedule, public.pause_schedule, public.resume_schedule, public.delete_schedule, public.run_schedule
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION
  public.add_schedule, public.pause_schedule, public.resume_schedule, public.delete_schedule, public.run_schedule
  TO authenticated, service_role;
GRANT EXECUTE ON FUNCTION shoal.delete_old_fires TO service_role;
