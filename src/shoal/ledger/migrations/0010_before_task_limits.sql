-- Limits of task types over all workers together: how many run at a time, how many start in a second, and
-- whether any may start at all.
--
-- Only claims of a type that has a row here take its lock, so they queue for it one after the other and
-- count right; all other claims pass without a lock of their own.

-- The tokens a type has now: they grow with time up to the burst, and each claim takes one.
CREATE FUNCTION shoal.tokens_of(p_limit public.task_limits) RETURNS double precision LANGUAGE sql
VOLATILE SET search_path = '' AS $$
  SELECT least(p_limit.burst,
    p_limit.tokens + p_limit.rate_per_s * extract(epoch FROM clock_timestamp() - p_limit.counted_at))
$$;

-- How many more of a type may start now; null for any number.
CREATE FUNCTION shoal.room_within(p_limit public.task_limits) RETURNS int LANGUAGE sql
VOLATILE SET search_path = '' AS $$
  SELECT CASE WHEN p_limit.paused_because IS NOT NULL THEN 0 ELSE least(
    CASE WHEN p_limit.max_running IS NOT NULL THEN greatest(p_limit.max_running - (
      SELECT count(*) FROM public.job_tasks t
       WHERE t.task_type = p_limit.task_type AND t.status = 'claimed'), 0) END,
    CASE WHEN p_limit.rate_per_s IS NOT NULL THEN floor(shoal.tokens_of(p_limit)) END) END::int
$$;

-- Lock the limits of these types, by type, and say how many of each may start, in the order given. Null
-- when none of them has a limit. Counting comes after the lock, so it sees what the lock waited for.
CREATE FUNCTION shoal.lock_limits(p_task_types text[]) RETURNS int[] LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
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

-- Take a token for each of these tasks, whose limits are locked and which stay where they are.
CREATE FUNCTION shoal.spend_tokens(p_places tid[]) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = '' AS $$
  UPDATE public.task_limits l
     SET tokens = shoal.tokens_of(l) - taken.n, counted_at = clock_timestamp()
    FROM (SELECT t.task_type, count(*) AS n FROM public.job_tasks t WHERE t.ctid = ANY (p_places)
           GROUP BY t.task_type) taken
   WHERE l.task_type = taken.task_type AND l.rate_per_s IS NOT NULL
$$;

-- When something that ran has ended, a worker may be waiting for its place.
CREATE FUNCTION shoal.wake_for_limits() RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF EXISTS (SELECT FROM public.task_limits l WHERE l.max_running IS NOT NULL) THEN
    PERFORM pg_notify('shoal_tasks', '');
  END IF;
END
$$;

-- In how many seconds there may be a task of these types to claim: the next delayed one is due, or a rate
-- limit lets another one through; NULL when neither is in sight. For workers with nothing to do: they
-- wake by the clock then, or earlier when 'shoal_tasks' is notified.
CREATE FUNCTION shoal.next_due_s(p_task_types text[]) RETURNS double precision LANGUAGE sql
SECURITY DEFINER SET search_path = '' AS $$
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

-- limit_task_type: at most so many at a time, and so many starts a second with a burst of so many at once;
-- null for no such limit. Both may be called while tasks of the type run; those go on.
CREATE FUNCTION public.limit_task_type(
  p_task_type text, p_max_running int DEFAULT NULL, p_rate_per_s double precision DEFAULT NULL, p_burst int DEFAULT 1
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO public.task_limits AS l (task_type, max_running, rate_per_s, burst, tokens)
  VALUES (p_task_type, p_max_running, p_rate_per_s, p_burst, p_burst)
  ON CONFLICT (task_type) DO UPDATE
    SET max_running = excluded.max_running, rate_per_s = excluded.rate_per_s, burst = excluded.burst,
        tokens = excluded.tokens, counted_at = excluded.counted_at;
  PERFORM shoal.forget_empty_limit(p_task_type);
END
$$;

-- pause_task_type: start no more tasks of this type until it is resumed. What runs goes on.
CREATE FUNCTION public.pause_task_type(p_task_type text, p_reason text DEFAULT 'Paused.') RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  INSERT INTO public.task_limits AS l (task_type, paused_because) VALUES (p_task_type, p_reason)
  ON CONFLICT (task_type) DO UPDATE SET paused_because = excluded.paused_because
$$;

CREATE FUNCTION public.resume_task_type(p_task_type text) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE public.task_limits l SET paused_because = NULL WHERE l.task_type = p_task_type;
  PERFORM shoal.forget_empty_limit(p_task_type);
END
$$;

-- A row that holds nothing back would still cost every claim a lock. Then wake who waited.
CREATE FUNCTION shoal.forget_empty_limit(p_task_type text) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = '' AS $$
  DELETE FROM public.task_limits l
   WHERE l.task_type = p_task_type AND l.paused_because IS NULL AND l.max_running IS NULL AND l.rate_per_s IS NULL;
  SELECT pg_notify('shoal_tasks', '')
$$;

REVOKE ALL ON FUNCTION
  shoal.tokens_of, shoal.room_within, shoal.lock_limits, shoal.spend_tokens, shoal.wake_for_limits,
  shoal.next_due_s, shoal.forget_empty_limit, public.limit_task_type, public.pause_task_type, public.resume_task_type
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.next_due_s TO service_role, shoal_worker;
GRANT EXECUTE ON FUNCTION public.limit_task_type, public.pause_task_type, public.resume_task_type TO service_role;
