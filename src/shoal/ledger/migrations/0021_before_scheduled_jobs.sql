-- From a run to its job. The event job.start of a schedule is read by a consumer, which calls
-- start_scheduled_job; that is where its owner and its overlap policy decide, and what makes it start once.

-- start_scheduled_job: the job of a run, by the event of the run; returns its id. Once for each run: called again
-- it returns the same. Null when there is none: the run was skipped, waits, failed (its row says why), or is
-- forgotten with its schedule. Does nothing for events of others.
--
-- The job belongs to the owner of the schedule, whatever its data say. With a policy other than allow, at most one
-- job of the schedule is alive: they have a unique key, and a run that finds one alive is skipped, waits (as
-- long as no more than missed_limit do), or cancels it.
-- Locks the schedule, then the tasks and the job that is cancelled.
CREATE FUNCTION shoal.start_scheduled_job(p_event_id uuid) RETURNS uuid LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- The rest of it, for a run that is locked, with its schedule where the policy needs that.
CREATE FUNCTION shoal.start_job_of_run(p_schedule public.schedule_t, p_run public.schedule_fires) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- release_queued_runs: start the jobs of runs that waited for the one before. Returns how many.
-- Locks schedules that are not held by somebody else.
CREATE FUNCTION shoal.release_queued_runs(p_at_most int) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

REVOKE ALL ON FUNCTION shoal.start_scheduled_job, shoal.start_job_of_run,
  shoal.release_queued_runs FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.start_scheduled_job, shoal.release_queued_runs TO service_role;
