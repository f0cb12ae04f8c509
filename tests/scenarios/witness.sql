-- The witness of a scenario: every completion is written down in the transaction that makes it, and
-- so is everything that happens to a task after it has ended. No key: what happens twice is seen twice.
CREATE SCHEMA witness;

CREATE TABLE witness.completions (
  task_id uuid NOT NULL, attempt int NOT NULL, worker_id text, output jsonb,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE witness.afterlives (
  task_id uuid NOT NULL, was text NOT NULL, became text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION witness.see_task() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF old.status IN ('complete', 'failed', 'cancelled') THEN
    INSERT INTO witness.afterlives (task_id, was, became) VALUES (old.id, old.status, new.status);
  ELSIF new.status = 'complete' THEN
    INSERT INTO witness.completions (task_id, attempt, worker_id, output)
    VALUES (new.id, new.attempts, new.worker_id, new.output);
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER see_task AFTER UPDATE ON public.job_tasks FOR EACH ROW
  WHEN (new.status = 'complete' OR old.status IN ('complete', 'failed', 'cancelled'))
  EXECUTE FUNCTION witness.see_task();
