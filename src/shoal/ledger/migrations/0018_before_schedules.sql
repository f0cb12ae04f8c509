-- Schedules: what happens again and again, and who fires it.
--
-- A schedule is *active* until it is paused, parked (it could not be fired; error says why) or has ended.
-- next_fire_ts is the occurrence it owes next, next_run_ts when that is due: later by the jitter. Without
-- next_fire_ts nobody has worked out the next occurrence; next_run_ts is then the moment from which to look.
-- So a row needs nothing that only our code can compute, and a client may insert one.
--
-- What makes a run happen once: it is fired by one statement (0019), which locks the row, finds it as it was
-- read (next_run_ts, aggregate_version, active), and writes the run, its event and the next time together.
-- aggregate_version counts the changes of what the schedule is; firing is none of them.
--
-- Lock order: a schedule, then tasks by id, then jobs by id.

-- As domains and not as CHECKs of the table, which would look at every column of a row that is only fired.
CREATE DOMAIN shoal.schedule_data AS text CONSTRAINT schedule_data_fits CHECK (octet_length(VALUE) <= 65536);
CREATE DOMAIN shoal.schedule_name AS varchar(126) CHECK (VALUE ~ '^[A-Za-z0-9][A-Za-z0-9 _.:/-]{0,125}$');
CREATE DOMAIN shoal.frequency_unit AS varchar(16)
  CHECK (VALUE IN ('SECONDS', 'MINUTES', 'HOURS', 'DAYS', 'WEEKS', 'MONTHS', 'YEARS', 'CRON'));
-- What users emit lives under user. so that nobody can announce the end of a job, or start one for others.
CREATE DOMAIN shoal.scheduled_event AS varchar(126)
  CHECK (VALUE = 'job.start' OR VALUE ~ '^user\.[a-z0-9_.-]{1,120}$');
CREATE DOMAIN shoal.schedule_moment AS timestamptz
  CONSTRAINT schedule_out_of_range CHECK (VALUE >= '1970-01-01Z' AND VALUE < '9000-01-01Z');

CREATE TABLE public.schedule_t (
  schedule_id        uuid PRIMARY KEY DEFAULT shoal.uuid7(),
  host_id            uuid NOT NULL,
  schedule_name      shoal.schedule_name NOT NULL,
  frequency_unit     shoal.frequency_unit NOT NULL,
  frequency_time     int NOT NULL DEFAULT 1 CONSTRAINT invalid_frequency CHECK (frequency_time > 0),
  start_ts           shoal.schedule_moment NOT NULL DEFAULT clock_timestamp(),
  next_run_ts        timestamptz NOT NULL DEFAULT clock_timestamp(),
  event_topic        shoal.event_name NOT NULL DEFAULT 'user',
  event_type         shoal.scheduled_event NOT NULL,
  event_data         shoal.schedule_data NOT NULL DEFAULT '{}',
  aggregate_version  bigint NOT NULL DEFAULT 1,
  active             boolean NOT NULL DEFAULT true,
  cron               varchar(255),
  zone               varchar(64) NOT NULL DEFAULT 'UTC',
  end_ts             shoal.schedule_moment,
  max_runs           bigint CHECK (max_runs > 0),
  runs               bigint NOT NULL DEFAULT 0,
  jitter_s           real NOT NULL DEFAULT 0 CHECK (jitter_s BETWEEN 0 AND 86400),
  missed_runs        text NOT NULL DEFAULT 'last' CHECK (missed_runs IN ('skip', 'last', 'all')),
  missed_limit       int NOT NULL DEFAULT 100 CHECK (missed_limit BETWEEN 1 AND 1000),
  missed_window_s    real CHECK (missed_window_s > 0 AND missed_window_s <= 315360000),
  overlap            text NOT NULL DEFAULT 'allow' CHECK (overlap IN ('allow', 'skip', 'queue', 'cancel')),
  next_fire_ts       timestamptz,
  paused_at          timestamptz,
  pause_reason       text CHECK (length(pause_reason) BETWEEN 1 AND 1000),
  parked_at          timestamptz,
  error              shoal.error_text,
  ended_at           timestamptz,
  created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT schedule_exists UNIQUE (host_id, schedule_name),
  CONSTRAINT cron_is_the_frequency CHECK ((frequency_unit = 'CRON') = (cron IS NOT NULL)),
  CONSTRAINT schedule_ends_before_start CHECK (end_ts >= start_ts),
  CONSTRAINT overlap_needs_job CHECK (overlap = 'allow' OR event_type = 'job.start')
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX idx_schedule_active_next_run ON public.schedule_t (next_run_ts) WHERE active;

-- The runs: one row for each occurrence that was fired, and for each run somebody asked for. since_ts: the
-- first of the missed occurrences for which this run stands as well. Of a schedule that starts jobs, outcome
-- says what became of the run once its event was read: started, queued (it waits for the job of the run before),
-- skipped (that job was alive) or failed, with the error.
--
-- No foreign key: it would cost a look at each run. A schedule is deleted with its runs by delete_schedule.
CREATE TABLE public.schedule_fires (
  schedule_id  uuid NOT NULL,
  fire_ts      timestamptz NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('scheduled', 'manual', 'backfill')),
  event_id     uuid NOT NULL,
  fired_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  since_ts     timestamptz,
  outcome      text CHECK (outcome IN ('started', 'queued', 'skipped', 'failed')),
  job_id       uuid,
  error        shoal.error_text,
  PRIMARY KEY (schedule_id, fire_ts, kind)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX schedule_fires_queued ON public.schedule_fires (schedule_id, fire_ts) WHERE outcome = 'queued';
CREATE INDEX schedule_fires_by_age ON public.schedule_fires USING brin (fired_at);

-- Who leads. A term is (instance_id, elected_at); it lasts lease_s from the last heartbeat, as whoever leads
-- has set it. Without a row nobody has led yet.
CREATE TABLE public.scheduler_lock_t (
  lock_id         int PRIMARY KEY,
  instance_id     varchar(255) NOT NULL,
  last_heartbeat  timestamptz NOT NULL,
  elected_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_s         real NOT NULL DEFAULT 60 CHECK (lease_s > 0)
) WITH (fillfactor = 50);

-- elect_scheduler: begin a term, if nobody leads. Returns its elected_at, or null; and in how many seconds the
-- term of whoever leads would end.
CREATE FUNCTION shoal.elect_scheduler(p_instance_id text, p_lease_s real, OUT elected_at timestamptz, OUT free_in_s float)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- renew_scheduler: the heartbeat of a term. Returns false when it is over, as another one has begun.
CREATE FUNCTION shoal.renew_scheduler(p_instance_id text, p_elected_at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE public.scheduler_lock_t l SET last_heartbeat = clock_timestamp()
   WHERE l.lock_id = 1 AND l.instance_id = p_instance_id AND l.elected_at = p_elected_at;
  RETURN FOUND;
END
$$;

-- resign_scheduler: end one's own term now, and tell those who wait for that.
CREATE FUNCTION shoal.resign_scheduler(p_instance_id text, p_elected_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE public.scheduler_lock_t l SET last_heartbeat = '-infinity'
   WHERE l.lock_id = 1 AND l.instance_id = p_instance_id AND l.elected_at = p_elected_at;
  IF FOUND THEN
    PERFORM pg_notify('shoal_scheduler', '');
  END IF;
END
$$;

ALTER TABLE public.schedule_t ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.schedule_fires ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.scheduler_lock_t ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON public.schedule_t, public.schedule_fires, public.scheduler_lock_t
  FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
GRANT SELECT ON public.schedule_t, public.schedule_fires TO authenticated;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.schedule_t, public.schedule_fires, public.scheduler_lock_t TO service_role;
CREATE POLICY users_read_their_schedules ON public.schedule_t FOR SELECT TO authenticated
  USING (host_id = (SELECT auth.uid()));
-- The sub-select is under the policy above.
CREATE POLICY users_read_their_runs ON public.schedule_fires FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.schedule_t s WHERE s.schedule_id = schedule_fires.schedule_id));
CREATE POLICY service_does_everything ON public.schedule_t TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.schedule_fires TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.scheduler_lock_t TO service_role USING (true) WITH CHECK (true);

REVOKE ALL ON FUNCTION shoal.elect_scheduler, shoal.renew_scheduler, shoal.resign_scheduler
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.elect_scheduler, shoal.renew_scheduler, shoal.resign_scheduler TO service_role;
