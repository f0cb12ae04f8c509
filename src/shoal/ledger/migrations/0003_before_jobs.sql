-- Jobs, their tasks, and what tasks leave behind.
--
-- A task is *ready* when it is pending, every task it needs has ended well (waiting_on = 0) and the
-- clock no longer holds it back (NOT delayed). Ready tasks are one partial index: a claim is a plain
-- scan of it, whatever else the table holds. Where a task stands in it, its order_key, is written once,
-- when its job is planned: fairness between users, priority and ageing are that one number (0005).
--
-- What a job counts (how many tasks are open, done, failed; the same per phase) is kept by triggers on
-- whole statements (0004), so the cost of a completion does not grow with the job.
--
-- Lock order, everywhere: tasks by id, then jobs by id.

-- Limits as domains and not as CHECKs of a table: a domain looks at a value when it is assigned, a CHECK
-- at every column of a row whenever any of them changes, and tasks change three times in their life.
CREATE DOMAIN shoal.job_params AS jsonb CONSTRAINT job_params_fit CHECK (octet_length(VALUE::text) <= 65536);
CREATE DOMAIN shoal.task_input AS jsonb CONSTRAINT task_input_fits CHECK (octet_length(VALUE::text) <= 65536);
CREATE DOMAIN shoal.task_output AS jsonb CONSTRAINT task_output_fits CHECK (octet_length(VALUE::text) <= 65536);
CREATE DOMAIN shoal.error_text AS text CONSTRAINT error_fits CHECK (length(VALUE) <= 16384);
CREATE DOMAIN shoal.type_name AS text CHECK (length(VALUE) BETWEEN 1 AND 127);
CREATE DOMAIN shoal.short_name AS text CHECK (length(VALUE) <= 255);
CREATE DOMAIN shoal.executor AS text CHECK (VALUE IN ('worker', 'fleet', 'mesh'));
CREATE DOMAIN shoal.task_status AS text
  CHECK (VALUE IN ('pending', 'claimed', 'complete', 'failed', 'cancelled'));
CREATE DOMAIN shoal.attempt_limit AS int CHECK (VALUE BETWEEN 1 AND 100);
CREATE DOMAIN shoal.seconds AS real CHECK (VALUE >= 0 AND VALUE < 'Infinity');

CREATE TABLE public.job_types (
  type           text PRIMARY KEY CHECK (type ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  version        text NOT NULL DEFAULT '1',
  params_schema  jsonb NOT NULL DEFAULT '{}',
  phases         jsonb NOT NULL DEFAULT '[]',
  registered_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The progress of a job from its counters alone. Phases follow each other: phase i ends at ends[i]
-- percent and starts where the one before it ends. The current phase is the first with open tasks;
-- a phase without tasks counts as passed once the current one lies behind it.
CREATE FUNCTION shoal.job_progress(
  status text, names text[], ends real[], totals int[], dones int[], message text
) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = '' AS $$
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
  id              uuid PRIMARY KEY DEFAULT shoal.uuid7(),
  user_id         uuid NOT NULL,
  type            text NOT NULL CHECK (type ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  params          shoal.job_params NOT NULL DEFAULT '{}',
  status          text NOT NULL DEFAULT 'queued'
                  CHECK (status IN ('queued', 'processing', 'complete', 'failed', 'cancelled')),
  progress        jsonb GENERATED ALWAYS AS (
                    shoal.job_progress(status, phase_names, phase_ends, phase_total, phase_done, message)
                  ) STORED,
  result          jsonb,
  error           text,
  priority        smallint NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
  unique_key      text CHECK (length(unique_key) BETWEEN 1 AND 255),
  message         text NOT NULL DEFAULT '',
  phase_names     text[] NOT NULL DEFAULT '{processing}',
  phase_ends      real[] NOT NULL DEFAULT '{100}',
  phase_total     int[] NOT NULL DEFAULT '{0}',
  phase_done      int[] NOT NULL DEFAULT '{0}',
  tasks_total     int NOT NULL DEFAULT 0,
  tasks_open      int NOT NULL DEFAULT 0 CHECK (tasks_open >= 0),
  tasks_failed    int NOT NULL DEFAULT 0 CHECK (tasks_failed >= 0),
  tasks_cancelled int NOT NULL DEFAULT 0 CHECK (tasks_cancelled >= 0),
  result_sequence int,
  turn            bigint NOT NULL DEFAULT 0,
  turn_ends       bigint NOT NULL DEFAULT 0,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at      timestamptz,
  finished_at     timestamptz,
  updated_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT job_phases_match CHECK (
    cardinality(phase_names) = cardinality(phase_ends)
    AND cardinality(phase_names) = cardinality(phase_total)
    AND cardinality(phase_names) = cardinality(phase_done))
);
CREATE INDEX jobs_of_user ON public.jobs (user_id, created_at DESC, id DESC);
CREATE INDEX jobs_alive ON public.jobs (user_id, turn_ends) WHERE status IN ('queued', 'processing');
CREATE UNIQUE INDEX jobs_unique_while_alive ON public.jobs (user_id, type, unique_key)
  WHERE unique_key IS NOT NULL AND status IN ('queued', 'processing');

-- The two indexes that hold every task leave room for the versions a task goes through: a full page would
-- be searched for dead entries at each claim and each completion.
CREATE TABLE public.job_tasks (
  id            uuid DEFAULT shoal.uuid7() PRIMARY KEY WITH (fillfactor = 50),
  job_id        uuid NOT NULL REFERENCES public.jobs (id) ON DELETE CASCADE,
  name          shoal.short_name NOT NULL DEFAULT '',
  task_type     shoal.type_name NOT NULL,
  executor      shoal.executor NOT NULL DEFAULT 'worker',
  sequence      int NOT NULL DEFAULT 0,
  phase         smallint NOT NULL DEFAULT 1,
  status        shoal.task_status NOT NULL DEFAULT 'pending',
  input         shoal.task_input NOT NULL DEFAULT '{}',
  output        shoal.task_output,
  error         shoal.error_text,
  worker_id     shoal.short_name,
  claim_token   uuid,
  claimed_at    timestamptz,
  lease_s       int NOT NULL DEFAULT 180,
  attempts      int NOT NULL DEFAULT 0,
  max_attempts  shoal.attempt_limit NOT NULL DEFAULT 3,
  backoff_s     shoal.seconds NOT NULL DEFAULT 5,
  timeout_s     shoal.seconds,
  waiting_on    int NOT NULL DEFAULT 0 CHECK (waiting_on >= 0),
  fan_in        int NOT NULL DEFAULT 0,
  fan_out       int NOT NULL DEFAULT 0,
  delayed       boolean NOT NULL DEFAULT false,
  run_at        timestamptz,
  order_key     bigint NOT NULL DEFAULT 0,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at   timestamptz,
  CONSTRAINT task_claim_is_whole CHECK (
    status <> 'claimed' OR (worker_id IS NOT NULL AND claim_token IS NOT NULL AND claimed_at IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);

CREATE INDEX job_tasks_ready ON public.job_tasks (task_type, order_key, id)
  WHERE status = 'pending' AND waiting_on = 0 AND NOT delayed;
CREATE INDEX job_tasks_delayed ON public.job_tasks (run_at) WHERE status = 'pending' AND delayed;
-- With claimed_at no two entries are equal: claims append to it instead of sorting through the ended ones.
CREATE INDEX job_tasks_claimed ON public.job_tasks (task_type, claimed_at) WHERE status = 'claimed';
CREATE INDEX job_tasks_of_job ON public.job_tasks (job_id, sequence) WITH (fillfactor = 50);

-- task_id may start when `needs` has ended. What a failure of `needs` means for task_id:
-- fail (it fails too), skip (it is cancelled, the job does not fail for it), ignore (it runs anyway).
CREATE TABLE public.task_edges (
  needs       uuid NOT NULL REFERENCES public.job_tasks (id) ON DELETE CASCADE,
  task_id     uuid NOT NULL REFERENCES public.job_tasks (id) ON DELETE CASCADE,
  on_failure  text NOT NULL DEFAULT 'fail' CHECK (on_failure IN ('fail', 'skip', 'ignore')),
  PRIMARY KEY (needs, task_id)
);
CREATE INDEX task_edges_back ON public.task_edges (task_id, needs);

-- The heartbeat of a claimed task, written from the first heartbeat on; until then claimed_at counts.
-- A narrow table of its own: a heartbeat rewrites no wide row and fires no trigger of job_tasks.
CREATE TABLE public.task_leases (
  task_id       uuid PRIMARY KEY REFERENCES public.job_tasks (id) ON DELETE CASCADE,
  claim_token   uuid NOT NULL,
  heartbeat_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  progress      real NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 1),
  message       text NOT NULL DEFAULT '' CHECK (length(message) <= 500)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- What a task made. Seen by nobody until the attempt that made it has completed its task: a row
-- counts when its claim_token is the one the task was completed under.
CREATE TABLE public.job_artifacts (
  id                uuid PRIMARY KEY DEFAULT shoal.uuid7(),
  job_id            uuid NOT NULL REFERENCES public.jobs (id) ON DELETE CASCADE,
  task_id           uuid NOT NULL REFERENCES public.job_tasks (id) ON DELETE CASCADE,
  claim_token       uuid NOT NULL,
  name              text NOT NULL DEFAULT '' CHECK (length(name) <= 255),
  artifact_type     text NOT NULL CHECK (length(artifact_type) BETWEEN 1 AND 127),
  storage_path      text NOT NULL CHECK (length(storage_path) BETWEEN 1 AND 1024),
  public_url        text,
  content_type      text NOT NULL DEFAULT 'application/octet-stream' CHECK (length(content_type) <= 255),
  file_size_bytes   bigint NOT NULL DEFAULT 0 CHECK (file_size_bytes >= 0),
  duration_seconds  double precision CHECK (duration_seconds >= 0),
  sha256            text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (task_id, claim_token, storage_path)
);
CREATE INDEX job_artifacts_of_job ON public.job_artifacts (job_id, created_at);

CREATE TABLE public.task_logs (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job_id   uuid NOT NULL REFERENCES public.jobs (id) ON DELETE CASCADE,
  task_id  uuid NOT NULL REFERENCES public.job_tasks (id) ON DELETE CASCADE,
  at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  level    text NOT NULL DEFAULT 'info' CHECK (level IN ('debug', 'info', 'warning', 'error')),
  line     text NOT NULL CHECK (length(line) <= 4096)
);
CREATE INDEX task_logs_of_job ON public.task_logs (job_id, id);
CREATE INDEX task_logs_by_age ON public.task_logs USING brin (at);

-- What holds back a type of task, over all workers together. No row: nothing does.
CREATE TABLE public.task_limits (
  task_type       shoal.type_name PRIMARY KEY,
  paused_because  text CHECK (length(paused_because) BETWEEN 1 AND 1000),
  max_running     int CHECK (max_running >= 1),
  rate_per_s      double precision CHECK (rate_per_s > 0 AND rate_per_s <= 1000000),
  burst           int NOT NULL DEFAULT 1 CHECK (burst BETWEEN 1 AND 1000000),
  tokens          double precision NOT NULL DEFAULT 1,
  counted_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
