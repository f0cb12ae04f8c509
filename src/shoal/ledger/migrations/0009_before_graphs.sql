-- Graphs: what a job is made of, and how it becomes tasks.
--
-- A graph is {"tasks": [entry, …], "result"?: name}. An entry is one task, or with `each` as many tasks
-- as that has inputs:
--   {name, task_type, input? | each?: [input, …], needs?: [name, …], on_failure?, phase?, executor?,
--    priority?, max_attempts?, backoff_s?, timeout_s?}
-- The tasks of an entry with `each` are called name-1, name-2, …; whoever needs the name needs all of
-- them. An entry may only need earlier ones, so that no cycle can be written down.

-- What is wrong with a graph, or NULL. Whatever p_graph is: nothing of it is cast before it was looked at.
CREATE FUNCTION shoal.wrong_in_graph(p_graph jsonb, p_phases text[]) RETURNS text LANGUAGE plpgsql
STABLE SET search_path = '' AS $$
DECLARE
  v_wrong text;
BEGIN
  WITH given AS MATERIALIZED (
    SELECT g.position, g.task, g.task ->> 'name' AS name,
           coalesce(nullif(g.task -> 'needs', 'null'), '[]') AS needs
      FROM jsonb_array_elements(CASE jsonb_typeof(p_graph -> 'tasks') WHEN 'array' THEN p_graph -> 'tasks'
                                ELSE '[]' END) WITH ORDINALITY AS g(task, position)
  ), need AS MATERIALIZED (
    SELECT g.position, g.name, n.name AS needed
      FROM given g
     CROSS JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(g.needs) WHEN 'array' THEN g.needs
                                                  ELSE '[]' END) AS n(name)
  ), number AS MATERIALIZED (
    SELECT g.name, n.key,
           CASE WHEN jsonb_typeof(n.value) = 'number' THEN n.value::numeric ELSE 'NaN' END AS value
      FROM given g
     CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(g.task) WHEN 'object' THEN g.task ELSE '{}' END) AS n
     WHERE n.key IN ('priority', 'max_attempts', 'backoff_s', 'timeout_s') AND n.value <> 'null'
  ), wrong AS (
    SELECT 1 AS rank, 'it has no list of tasks' AS what
     WHERE jsonb_typeof(p_graph -> 'tasks') IS DISTINCT FROM 'array'
    UNION ALL
    SELECT 2, 'a task has no name or no task_type, or one that is too long' FROM given
     WHERE NOT coalesce(length(name) BETWEEN 1 AND 255, false)
        OR NOT coalesce(length(task ->> 'task_type') BETWEEN 1 AND 127, false)
    UNION ALL
    SELECT 3, format('two tasks are named %L', name) FROM given GROUP BY name HAVING count(*) > 1
    UNION ALL
    SELECT 4, format('what task %L needs is not a list of names', name) FROM given
     WHERE jsonb_typeof(needs) <> 'array'
    UNION ALL
    SELECT 5, format('task %L needs %L, which is not a task before it', n.name, n.needed)
      FROM need n LEFT JOIN given p ON p.name = n.needed AND p.position < n.position
     WHERE p.name IS NULL
    UNION ALL
    SELECT 6, format('task %L needs %L twice', name, needed) FROM need GROUP BY name, needed HAVING count(*) > 1
    UNION ALL
    SELECT 7, format('task %L is in the phase %L, which the job does not have', name, task ->> 'phase')
      FROM given WHERE NOT task ->> 'phase' = ANY (p_phases)
    UNION ALL
    SELECT 8, format('task %L cannot be a plan', name) FROM given WHERE task ->> 'task_type' LIKE 'plan:%'
    UNION ALL
    SELECT 9, format('on_failure of task %L is not fail, skip or ignore', name) FROM given
     WHERE task ->> 'on_failure' NOT IN ('fail', 'skip', 'ignore')
    UNION ALL
    SELECT 10, format('the executor of task %L is not worker, fleet or mesh', name) FROM given
     WHERE task ->> 'executor' NOT IN ('worker', 'fleet', 'mesh')
    UNION ALL
    SELECT 11, format('max_attempts of task %L is not a whole number from 1 to 100', name) FROM number
     WHERE key = 'max_attempts' AND NOT (value BETWEEN 1 AND 100 AND value % 1 = 0)
    UNION ALL
    SELECT 12, format('%s of task %L is not a number of seconds', key, name) FROM number
     WHERE key IN ('backoff_s', 'timeout_s') AND NOT (value = 0 OR value BETWEEN 0.000001 AND 1000000000)
    UNION ALL
    SELECT 13, format('priority of task %L is not a whole number from -100 to 100', name) FROM number
     WHERE key = 'priority' AND NOT (value BETWEEN -100 AND 100 AND value % 1 = 0)
    UNION ALL
    SELECT 14, format('each of task %L is not a list of inputs', name) FROM given
     WHERE jsonb_typeof(task -> 'each') <> 'array'
    UNION ALL
    SELECT 15, format('the result is task %L, which the graph does not have as one task', p_graph ->> 'result')
     WHERE p_graph ->> 'result' IS NOT NULL
       AND NOT EXISTS (SELECT FROM given WHERE name = p_graph ->> 'result' AND NOT task ? 'each')
  )
  SELECT 'The graph is not valid: ' || what || '.' INTO v_wrong FROM wrong ORDER BY rank LIMIT 1;
  RETURN v_wrong;
END
$$;

-- The entries of valid graphs: how many tasks each one is, after how many others of its job, and how many
-- tasks each of its tasks needs and feeds.
CREATE FUNCTION shoal.graph_entries(p_job_ids uuid[], p_graphs jsonb[]) RETURNS TABLE (
  job_id uuid, task jsonb, name text, size bigint, preceding bigint, fan_in bigint, fan_out bigint
) LANGUAGE sql STABLE SET search_path = '' AS $$
  WITH entry AS MATERIALIZED (
    SELECT g.job_id, e.position, e.task, e.task ->> 'name' AS name,
           CASE WHEN e.task ? 'each' THEN jsonb_array_length(e.task -> 'each') ELSE 1 END AS size
      FROM unnest(p_job_ids, p_graphs) AS g(job_id, graph)
     CROSS JOIN LATERAL jsonb_array_elements(g.graph -> 'tasks') WITH ORDINALITY AS e(task, position)
  ), need AS MATERIALIZED (
    SELECT t.job_id, t.name, t.size, n.name AS needed
      FROM entry t CROSS JOIN LATERAL jsonb_array_elements_text(nullif(t.task -> 'needs', 'null')) AS n(name)
  )
  SELECT e.job_id, e.task, e.name, e.size,
         coalesce(sum(e.size) OVER (PARTITION BY e.job_id ORDER BY e.position
                                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint,
         coalesce(i.n, 0), coalesce(o.n, 0)
    FROM entry e
    LEFT JOIN (SELECT n.job_id, n.name, sum(needed.size)::bigint AS n FROM need n
                 JOIN entry needed ON needed.job_id = n.job_id AND needed.name = n.needed
                GROUP BY n.job_id, n.name) i ON i.job_id = e.job_id AND i.name = e.name
    LEFT JOIN (SELECT n.job_id, n.needed, sum(n.size)::bigint AS n FROM need n
                GROUP BY n.job_id, n.needed) o ON o.job_id = e.job_id AND o.needed = e.name
$$;

-- insert_graphs: the tasks of new jobs, in the order of their graphs, and what they need of each other.
-- The jobs are ours alone: just made, or held through their plan task. Refuses invalid graphs.
CREATE FUNCTION shoal.insert_graphs(p_job_ids uuid[], p_graphs jsonb[]) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_wrong text := (
    SELECT w.wrong FROM unnest(p_job_ids, p_graphs) AS g(job_id, graph)
      JOIN public.jobs j ON j.id = g.job_id
     CROSS JOIN LATERAL shoal.wrong_in_graph(g.graph, j.phase_names) AS w(wrong)
     WHERE w.wrong IS NOT NULL LIMIT 1);
BEGIN
  IF v_wrong IS NOT NULL THEN
    PERFORM shoal.refuse('SH400', 'invalid_graph', v_wrong);
  END IF;

  -- Jobs of one user that begin together take their turns one after the other.
  UPDATE public.jobs j
     SET turn = t.begins, turn_ends = t.begins + shoal.place_in_turn(t.size), result_sequence = t.result
    FROM (
      SELECT s.id, s.size, s.result,
             shoal.next_turn(s.id, s.user_id, s.priority) + shoal.place_in_turn(coalesce(sum(s.size) OVER (
               PARTITION BY s.user_id, s.priority ORDER BY s.position
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint) AS begins
        FROM (
          SELECT j.id, j.user_id, j.priority, g.position, coalesce(sum(e.size), 0)::bigint AS size,
                 min(e.preceding + 1) FILTER (WHERE e.name = g.graph ->> 'result') AS result
            FROM unnest(p_job_ids, p_graphs) WITH ORDINALITY AS g(job_id, graph, position)
            JOIN public.jobs j ON j.id = g.job_id
            LEFT JOIN shoal.graph_entries(p_job_ids, p_graphs) e ON e.job_id = g.job_id
           GROUP BY j.id, g.position, g.graph
        ) s
    ) t
   WHERE j.id = t.id;

  INSERT INTO public.job_tasks (job_id, name, task_type, executor, sequence, phase, input, max_attempts,
    backoff_s, timeout_s, waiting_on, fan_in, fan_out, order_key)
  SELECT e.job_id, CASE WHEN i.number IS NULL THEN e.name ELSE e.name || '-' || i.number END,
         e.task ->> 'task_type', coalesce(e.task ->> 'executor', 'worker'),
         e.preceding + coalesce(i.number, 1), coalesce(array_position(j.phase_names, e.task ->> 'phase'), 2),
         coalesce(i.input, '{}'), coalesce((e.task ->> 'max_attempts')::int, 3),
         coalesce((e.task ->> 'backoff_s')::real, 5), (e.task ->> 'timeout_s')::real,
         e.fan_in, e.fan_in, e.fan_out,
         j.turn + shoal.place_in_turn(e.preceding + coalesce(i.number, 1))
           - (j.priority + coalesce((e.task ->> 'priority')::int, 0)) * 60000000::bigint
    FROM shoal.graph_entries(p_job_ids, p_graphs) e
    JOIN public.jobs j ON j.id = e.job_id
   CROSS JOIN LATERAL (
      SELECT NULL::bigint AS number, nullif(e.task -> 'input', 'null') AS input WHERE NOT e.task ? 'each'
      UNION ALL
      SELECT one.number, nullif(one.input, 'null')
        FROM jsonb_array_elements(e.task -> 'each') WITH ORDINALITY AS one(input, number)
    ) i;

  INSERT INTO public.task_edges (needs, task_id, on_failure)
  SELECT n.id, t.id, coalesce(e.task ->> 'on_failure', 'fail')
    FROM shoal.graph_entries(p_job_ids, p_graphs) e
   CROSS JOIN LATERAL jsonb_array_elements_text(nullif(e.task -> 'needs', 'null')) AS need(name)
    JOIN shoal.graph_entries(p_job_ids, p_graphs) f ON f.job_id = e.job_id AND f.name = need.name
    JOIN public.job_tasks t ON t.job_id = e.job_id AND t.sequence BETWEEN e.preceding + 1 AND e.preceding + e.size
    JOIN public.job_tasks n ON n.job_id = f.job_id AND n.sequence BETWEEN f.preceding + 1 AND f.preceding + f.size
   WHERE e.fan_in > 0;
END
$$;

-- plan_job: replace the plan task this worker holds by the graph it worked out, in one step. Returns
-- false when the lease was lost. Planning twice under one claim changes nothing and is true.
-- Locks: the plan task, then the job.
CREATE FUNCTION shoal.plan_job(p_worker_id text, p_task_id uuid, p_claim_token uuid, p_graph jsonb)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_plan   public.job_tasks;
BEGIN
  SELECT * INTO v_plan FROM public.job_tasks t WHERE t.id = p_task_id FOR UPDATE;
  IF v_plan.claim_token IS DISTINCT FROM p_claim_token OR v_plan.worker_id IS DISTINCT FROM p_worker_id
     OR v_plan.status NOT IN ('claimed', 'complete') THEN
    RETURN false;
  ELSIF v_plan.status = 'complete' THEN
    RETURN true;
  END IF;
  PERFORM shoal.insert_graphs(ARRAY[v_plan.job_id], ARRAY[p_graph]);
  UPDATE public.job_tasks t SET status = 'complete', finished_at = clock_timestamp()
   WHERE t.id = p_task_id;
  DELETE FROM public.task_leases l WHERE l.task_id = p_task_id;
  PERFORM pg_notify('shoal_tasks', '');
  RETURN true;
END
$$;

REVOKE ALL ON FUNCTION shoal.wrong_in_graph, shoal.graph_entries, shoal.insert_graphs, shoal.plan_job
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.plan_job TO service_role, shoal_worker;
