-- Firing: from a schedule that is due to its run, its event and its next time, in one step.

-- What a run says: the data of its schedule, and which run it is.
CREATE FUNCTION shoal.run_payload(p_schedule_id uuid, p_name text, p_fire_ts timestamptz, p_kind text, p_data text)
RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT pg_catalog.jsonb_build_object(
    'v', 1, 'scheduleId', p_schedule_id, 'scheduleName', p_name, 'kind', p_kind,
    'fireTs', pg_catalog.to_char(p_fire_ts AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'data', p_data::pg_catalog.jsonb)
$$;

-- The id of the event of a run: the same whoever fires it, however often, and another one for each kind, so that
-- a run somebody asks for never takes the place of a regular one. A UUID of version 8 made by SHA-256: the
-- SHA-1 of version 5 is not in PostgreSQL.
CREATE FUNCTION shoal.run_event_id(p_schedule_id uuid, p_fire_ts timestamptz, p_kind text) RETURNS uuid
LANGUAGE sql STABLE AS $$
  SELECT pg_catalog.overlay(pg_catalog.overlay(pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(
           pg_catalog.uuid_send(p_schedule_id) || pg_catalog.int8send(shoal.microseconds(p_fire_ts))
           || pg_catalog.convert_to(p_kind, 'UTF8')), 1, 16), 'hex'), '8', 13), '8', 17)::pg_catalog.uuid
$$;

-- fire_schedules: fire a batch of due schedules as they were planned. Returns how many schedules were moved on
-- and how many runs that made; moved is null when the term is not that of the leader (any more), and then
-- nothing was done.
--   p_schedule_ids, p_versions, p_seen   which schedules, as they were read: aggregate_version and next_run_ts
--   p_next_fires, p_next_runs            the occurrence that follows, and when it is due; null: it has ended
--   p_runs                               how many of the runs below are its own
--   p_run_ids, p_fire_ts, p_since        one run each: the schedule, the occurrence, and since_ts
-- A schedule that is not as it was read, or that somebody else holds, is left out with its runs.
-- Locks the schedules by id, skipping those that are held.
CREATE FUNCTION shoal.fire_schedules(
  p_instance_id text, p_elected_at timestamptz,
  p_schedule_ids uuid[], p_versions bigint[], p_seen timestamptz[], p_next_fires timestamptz[], p_next_runs timestamptz[],
  p_runs int[],
  p_run_ids uuid[], p_fire_ts timestamptz[], p_since timestamptz[],
  OUT moved int, OUT runs int
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$  -- whatever the statistics say
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

-- Append an event about each of these schedules, as they are now.
CREATE FUNCTION shoal.tell_of_schedules(p_schedule_ids uuid[], p_event_type text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  SELECT shoal.append_events('schedule', array_agg(s.schedule_id::text), array_agg(p_event_type),
           array_agg(jsonb_strip_nulls(jsonb_build_object(
             'v', 1, 'scheduleId', s.schedule_id, 'name', s.schedule_name, 'reason', s.pause_reason,
             'error', s.error))),
           array_agg(s.host_id), array_agg(s.aggregate_version))
    FROM public.schedule_t s WHERE s.schedule_id = ANY (p_schedule_ids)
$$;

-- park_schedule: put aside a schedule that cannot be fired, with the reason. One that is not as it was read
-- stays as it is. Returns whether it was parked.
CREATE FUNCTION shoal.park_schedule(p_schedule_id uuid, p_version bigint, p_error text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

REVOKE ALL ON FUNCTION shoal.run_event_id, shoal.run_payload, shoal.fire_schedules, shoal.tell_of_schedules, shoal.park_schedule
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.fire_schedules, shoal.park_schedule TO service_role;
