-- The life of a task: claim, heartbeat, complete, fail, release, reclaim; and how jobs begin.
--
-- The names and parameter names of the five public functions are the contract with clients that call
-- them by RPC. A further p_claim_token fences by attempt; without it worker and status decide.
-- The batch forms in the schema `shoal` are what our own worker calls; the public ones call those.
--
-- The hot ones are planned once for each connection, whatever the size of a batch: planning anew would cost
-- as much as claiming. And without sequential scans: a plan made while the table was small must not read
-- all of it when it has grown.
--
-- Errors that people see carry a SQLSTATE of class SH (SH400 … SH413) and their stable code in DETAIL.

CREATE FUNCTION shoal.refuse(p_kind text, p_code text, p_message text, p_hint text DEFAULT '')
RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = p_kind, MESSAGE = p_message, DETAIL = p_code, HINT = p_hint;
END
$$;

-- Places in the queues are virtual start times, in microseconds. The tasks of one user stand a second
-- apart, those of a job behind those of the user's earlier living jobs: whoever brings little does not
-- wait for all of somebody who brings much. Nobody is put back by more than six hours for that, and a
-- step of priority is worth a minute, so nothing waits for ever.
CREATE FUNCTION shoal.microseconds(p_moment timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT (extract(epoch FROM p_moment) * 1000000)::bigint';

-- How far the nth task of a job stands behind the first one.
CREATE FUNCTION shoal.place_in_turn(p_position bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT least(p_position, 21600) * 1000000 + p_position';

-- Where the turn of a job begins: now, or behind the living jobs of its user that are as urgent.
CREATE FUNCTION shoal.next_turn(p_job_id uuid, p_user_id uuid, p_priority int) RETURNS bigint LANGUAGE sql
STABLE SET search_path = '' AS $$
  SELECT least(greatest(now_us, (
           SELECT j.turn_ends FROM public.jobs j
            WHERE j.user_id = p_user_id AND j.status IN ('queued', 'processing')
              AND j.priority >= p_priority AND j.id <> p_job_id
            ORDER BY j.turn_ends DESC LIMIT 1)), now_us + 21600000000)
    FROM (SELECT shoal.microseconds(clock_timestamp()) AS now_us) n
$$;

-- How long a task waits after its nth failed attempt: doubling, at most an hour, minus up to half of
-- it by chance (p_chance in [0, 1)), so that tasks that failed together do not come back together.
CREATE FUNCTION shoal.backoff(p_base_s real, p_attempt int, p_chance double precision)
RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = '' AS $$
  SELECT make_interval(secs =>
    least(p_base_s * power(2, least(greatest(p_attempt, 1) - 1, 30)), 3600) * (1 - p_chance / 2))
$$;

-- Tasks whose time has come become ready. Cheap when there are none: one probe of a partial index.
CREATE FUNCTION shoal.promote_due_tasks() RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- claim_work: take up to p_max_tasks ready tasks of the given types, best first, with what our worker
-- needs to run them: the owner, the outputs of the tasks each one needed by their names, and for a plan
-- task the parameters of the job.
-- A repeated call (p_repeated: the reply to the last one was lost) returns what the token holds, if it
-- holds anything, and takes no others.
-- Locks: the token, since the call that is repeated may still be under way; the limits of the types that
-- have one, by type; the tasks it takes, skipping those another claim holds; then their jobs by id (0004).
CREATE FUNCTION shoal.claim_work(
  p_worker_id text, p_max_tasks int, p_task_types text[], p_lease_s int, p_claim_token uuid, p_repeated boolean
) RETURNS TABLE (
  task_id uuid, job_id uuid, user_id uuid, job_type text, task_name text, task_type text,
  attempt int, max_attempts int, timeout_s real, input jsonb, needs jsonb
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
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

-- claim_tasks: the claim as other clients know it. With a p_claim_token of the client's choice a lost
-- call can be repeated; without one a token is made, and the rows tell it.
CREATE FUNCTION public.claim_tasks(
  p_worker_id text, p_max_tasks int, p_task_types text[], p_claim_token uuid DEFAULT NULL
) RETURNS SETOF public.job_tasks LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- heartbeat_tasks: prolong what is still held, and record how far it is. Returns the ids still held;
-- what is missing from the answer is lost, and its worker must stop it.
CREATE FUNCTION shoal.heartbeat_tasks(
  p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_progress real[], p_messages text[]
) RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
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

CREATE FUNCTION public.heartbeat_task(p_task_id uuid, p_worker_id text, p_claim_token uuid DEFAULT NULL)
RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  SELECT EXISTS (
    SELECT FROM shoal.heartbeat_tasks(p_worker_id, ARRAY[p_task_id], ARRAY[p_claim_token],
      ARRAY[(SELECT l.progress FROM public.task_leases l WHERE l.task_id = p_task_id)],
      ARRAY[(SELECT l.message FROM public.task_leases l WHERE l.task_id = p_task_id)]))
$$;

-- The given tasks and whatever waits for them, locked in the one order.
CREATE FUNCTION shoal.lock_tasks(p_task_ids uuid[]) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_waiting uuid[] := ARRAY(SELECT e.task_id FROM public.task_edges e WHERE e.needs = ANY (p_task_ids));
BEGIN
  PERFORM FROM public.job_tasks t WHERE t.id = ANY (p_task_ids || v_waiting) ORDER BY t.id FOR UPDATE;
END
$$;

-- What waited for these tasks has one thing less to wait for (after a failure: what ignores failures).
-- Claimed ones too: one that ignored a failure may run while what had failed is tried again.
CREATE FUNCTION shoal.release_dependants(p_task_ids uuid[], p_failed boolean) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- complete_tasks: record the outputs of tasks this worker holds and release what waited for them.
-- Returns only what was not completed by this call, with its verdict: already_completed (under this very
-- claim, by an earlier call) or lease_lost.
CREATE FUNCTION shoal.complete_tasks(
  p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_outputs jsonb[]
) RETURNS TABLE (task_id uuid, verdict text) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
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

CREATE FUNCTION public.complete_task(
  p_task_id uuid, p_worker_id text, p_output jsonb DEFAULT NULL, p_claim_token uuid DEFAULT NULL
) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  SELECT NOT EXISTS (
    SELECT FROM shoal.complete_tasks(p_worker_id, ARRAY[p_task_id], ARRAY[p_claim_token], ARRAY[p_output])
     WHERE verdict = 'lease_lost')
$$;

-- The given tasks and everything that needs them, down to the last one, locked in the one order.
CREATE FUNCTION shoal.lock_tasks_and_descendants(p_task_ids uuid[]) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = '' AS $$
  WITH RECURSIVE below(id) AS (
    SELECT unnest(p_task_ids)
    UNION SELECT e.task_id FROM below JOIN public.task_edges e ON e.needs = below.id
  )
  SELECT FROM public.job_tasks t WHERE t.id IN (SELECT id FROM below) ORDER BY t.id FOR UPDATE
$$;

-- What the end of these tasks in failure means for those that need them, down to the last one.
-- The caller has locked them all (lock_tasks_and_descendants).
-- fail: fails too · skip: is cancelled, and so is what needs it unless it ignores that · ignore: runs.
CREATE FUNCTION shoal.spread_failure(p_task_ids uuid[]) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- fail_tasks: give back tasks that failed. With attempts left (and not p_permanent) they wait and come
-- back, after p_retry_after_s (at most a year) or the task's own back-off; else they have failed, and
-- that spreads.
-- Per task: retrying | failed | lease_lost.
CREATE FUNCTION shoal.fail_tasks(
  p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_errors text[],
  p_permanent boolean[], p_retry_after_s real[]
) RETURNS TABLE (task_id uuid, verdict text) LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

CREATE FUNCTION public.fail_task(
  p_task_id uuid, p_worker_id text, p_error text DEFAULT '', p_claim_token uuid DEFAULT NULL
) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  SELECT verdict <> 'lease_lost'
    FROM shoal.fail_tasks(p_worker_id, ARRAY[p_task_id], ARRAY[p_claim_token], ARRAY[p_error],
      ARRAY[false], ARRAY[NULL::real])
$$;

-- release_tasks: hand back unfinished tasks at once, as if they had never been claimed: no attempt is
-- burned. For a worker that is told to stop.
CREATE FUNCTION shoal.release_tasks(p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[])
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

-- snooze_tasks: put tasks off that are held and have not failed: no attempt is burned. p_after_s is at
-- most a year. Per task: snoozed | lease_lost.
CREATE FUNCTION shoal.snooze_tasks(
  p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_after_s real[]
) RETURNS TABLE (task_id uuid, verdict text) LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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

CREATE VIEW shoal.stale_tasks AS
  SELECT t.id FROM public.job_tasks t
    LEFT JOIN public.task_leases l ON l.task_id = t.id AND l.claim_token = t.claim_token
   WHERE t.status = 'claimed' AND t.executor = 'worker'
     AND greatest(t.claimed_at, l.heartbeat_at) + make_interval(secs => t.lease_s) < clock_timestamp();

-- reclaim_stale_tasks: take back tasks whose worker has been silent for longer than their lease.
-- Attempts were counted at the claim, so a task that kills its workers comes to an end.
-- Any number of processes may call it; one works at a time, the others return 0.
CREATE FUNCTION public.reclaim_stale_tasks() RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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
