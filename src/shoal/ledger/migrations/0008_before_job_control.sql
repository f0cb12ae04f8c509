-- Intervening in jobs: cancel, try again; and what their tasks wrote.
--
-- A user may do this to their own jobs, the service to all. Somebody else's job is not found.

CREATE FUNCTION shoal.require_visible_job(p_job_id uuid) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.jobs j
                  WHERE j.id = p_job_id AND (shoal.is_service() OR j.user_id = auth.uid())) THEN
    PERFORM shoal.refuse('SH404', 'job_not_found', format('There is no job %s.', p_job_id));
  END IF;
END
$$;

CREATE FUNCTION shoal.job_of_task(p_task_id uuid) RETURNS uuid LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- cancel_job: end a job and every task of it that has not ended. Workers that run one are told at once.
-- Returns the status the job then has: cancelled, or the one in which it had ended before.
-- Locks: all its tasks by id, then the job.
CREATE FUNCTION public.cancel_job(p_job_id uuid, p_reason text DEFAULT 'Cancelled.') RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- cancel_task: end one task that has not ended. What needs it fails, is skipped or runs, as declared for
-- a failure. Returns the status the task then has.
-- Locks: the task and all its descendants by id, then the job.
CREATE FUNCTION public.cancel_task(p_task_id uuid, p_reason text DEFAULT 'Cancelled.') RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- Put ended tasks back to pending with all their attempts, and their job back to work. One that needs
-- what stays failed is left as it is: it could never start. What ignored a failure and has not ended
-- waits for what is tried again.
-- Returns how many. Locks: the tasks and what needs them by id, then the job.
CREATE FUNCTION shoal.retry_tasks(p_job_id uuid, p_task_ids uuid[]) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- retry_job: try everything again that failed or was cancelled. Returns how many tasks that is.
CREATE FUNCTION public.retry_job(p_job_id uuid) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- retry_task: try one ended task again, and what did not run because of it. Refused while something that
-- the task needs stays failed.
CREATE FUNCTION public.retry_task(p_task_id uuid) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- add_logs: lines that tasks wrote, for those this worker still holds or has just completed.
-- Locks: a share of the tasks, by id; else the foreign key would take them in the order of the lines.
CREATE FUNCTION shoal.add_logs(
  p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_at timestamptz[], p_levels text[], p_lines text[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
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

REVOKE ALL ON FUNCTION
  public.cancel_job, public.cancel_task, public.retry_job, public.retry_task, shoal.add_logs,
  shoal.require_visible_job, shoal.job_of_task, shoal.retry_tasks
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION public.cancel_job, public.cancel_task, public.retry_job, public.retry_task
  TO authenticated, service_role;
GRANT EXECUTE ON FUNCTION shoal.add_logs TO service_role, shoal_worker;
