-- Graphs: what a job is made of, and how it becomes tasks.
--
-- A graph is {"tasks": [entry, …], "result"?: name}. An entry is one task, or with `each` as many tasks
-- as that has inputs:
--   {name, task_type, input? | each?: [input, …], needs?: [name, …], on_failure?, phase?, executor?,
--    priority?, max_attempts?, backoff_s?, timeout_s?}
-- The tasks of an entry with `each` are called name-1, name-2, …; whoever needs the name needs all of
-- them. An entry may only need earlier ones, so that no cycle can be written down.

-- What is wrong with the first of these graphs that is not valid, or NULL. Whatever they are: nothing is
-- cast before it was looked at. All are looked at together, and joins of names are hashed: the planner,
-- which does not know how many tasks there are, would compare each with each.
CREATE FUNCTION shoal.wrong_in_graphs(p_job_ids uuid[], p_graphs jsonb[]) RETURNS text LANGUAGE plpgsql
STABLE SET search_path = '' SET enable_nestloop = off SET jit = off AS $$
DECLARE
  v_wrong text;
BEGIN
  WITH graph AS MATERIALIZED (
    SELECT g.nr, g.graph, (SELECT j.phase_names FROM public.jobs j WHERE j.id = g.job_id) AS phases
      FROM unnest(p_job_ids, p_graphs) WITH ORDINALITY AS g(job_id, graph, nr)
  ), given AS MATERIALIZED (
    SELECT g.nr, g.phases, t.position, t.task, t.task ->> 'name' AS name,
           coalesce(nullif(t.task -> 'needs', 'null'), '[]') AS needs
      FROM graph g
     CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(g.graph -> 'tasks') WHEN 'array'
       THEN g.graph -> 'tasks' ELSE '[]' END) WITH ORDINALITY AS t(task, position)
  ), need AS MATERIALIZED (
    SELECT g.nr, g.position, g.name, n.name AS needed
      FROM given g
     CROSS JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(g.needs) WHEN 'array' THEN g.needs
                                                  ELSE '[]' END) AS n(name)
  ), number AS MATERIALIZED (
    SELECT g.nr, g.name, n.key,
           CASE WHEN jsonb_typeof(n.value) = 'number' THEN n.value::numeric ELSE 'NaN' END AS value
      FROM given g
     CROSS JOIN LATERAL (VALUES
       ('priority', g.task -> 'priority'), ('max_attempts', g.task -> 'max_attempts'),
       ('backoff_s', g.task -> 'backoff_s'), ('timeout_s', g.task -> 'timeout_s')) AS n(key, value)
     WHERE jsonb_typeof(g.task) = 'object' AND n.value <> 'null'
  ), wrong AS (
    SELECT nr, 1 AS rank, 'it has no list of tasks' AS what FROM graph
     WHERE jsonb_typeof(graph -> 'tasks') IS DISTINCT FROM 'array'
    UNION ALL
    SELECT nr, 2, 'a task has no name or no task_type, or one that is too long' FROM given
     WHERE NOT coalesce(length(name) BETWEEN 1 AND 255, false)
        OR NOT coalesce(length(task ->> 'task_type') BETWEEN 1 AND 127, false)
    UNION ALL
    SELECT nr, 3, format('two tasks are named %L', name) FROM given GROUP BY nr, name HAVING count(*) > 1
    UNION ALL
    SELECT nr, 4, format('what task %L needs is not a list of names', name) FROM given
     WHERE jsonb_typeof(needs) <> 'array'
    UNION ALL
    SELECT n.nr, 5, format('task %L needs %L, which is not a task before it', n.name, n.needed)
      FROM need n LEFT JOIN given p ON p.nr = n.nr AND p.name = n.needed AND p.position < n.position
     WHERE p.name IS NULL
    UNION ALL
    SELECT nr, 6, format('task %L needs %L twice', name, needed) FROM need
     GROUP BY nr, name, needed HAVING count(*) > 1
    UNION ALL
    SELECT nr, 7, format('task %L is in the phase %L, which the job does not have', name, task ->> 'phase')
      FROM given WHERE NOT task ->> 'phase' = ANY (phases)
    UNION ALL
    SELECT nr, 8, format('task %L cannot be a plan', name) FROM given WHERE task ->> 'task_type' LIKE 'plan:%'
    UNION ALL
    SELECT nr, 9, format('on_failure of task %L is not fail, skip or ignore', name) FROM given
     WHERE task ->> 'on_failure' NOT IN ('fail', 'skip', 'ignore')
    UNION ALL
    SELECT nr, 10, format('the executor of task %L is not worker, fleet or mesh', name) FROM given
     WHERE task ->> 'executor' NOT IN ('worker', 'fleet', 'mesh')
    UNION ALL
    SELECT nr, 11, format('max_attempts of task %L is not a whole number from 1 to 100', name) FROM number
     WHERE key = 'max_attempts' AND NOT (value BETWEEN 1 AND 100 AND value % 1 = 0)
    UNION ALL
    SELECT nr, 12, format('%s of task %L is not a number of seconds', key, name) FROM number
     WHERE key IN ('backoff_s', 'timeout_s') AND NOT (value = 0 OR value BETWEEN 0.000001 AND 1000000000)
    UNION ALL
    SELECT nr, 13, format('priority of task %L is not a whole number from -100 to 100', name) FROM number
     WHERE key = 'priority' AND NOT (value BETWEEN -100 AND 100 AND value % 1 = 0)
    UNION ALL
    SELECT nr, 14, format('each of task %L is not a list of inputs', name) FROM given
     WHERE jsonb_typeof(task -> 'each') <> 'array'
    UNION ALL
    SELECT g.nr, 15, format('the result is task %L, which the graph does not have as one task', g.graph ->> 'result')
      FROM graph g LEFT JOIN given t ON t.nr = g.nr AND t.name = g.graph ->> 'result' AND NOT t.task ? 'each'
     WHERE g.graph ->> 'result' IS NOT NULL AND t.name IS NULL
  )
  SELECT 'The graph is not valid: ' || what || '.' INTO v_wrong FROM wrong ORDER BY nr, rank LIMIT 1;
  RETURN v_wrong;
END
$$;

-- The entries of valid graphs: of which graph (the first is 1), how many tasks each one is, after how many
-- others of its job, and how many tasks each of its tasks needs and feeds.
CREATE FUNCTION shoal.graph_entries(p_job_ids uuid[], p_graphs jsonb[]) RETURNS TABLE (
  nr bigint, job_id uuid, task jsonb, name text, is_result boolean, size bigint, preceding bigint,
  fan_in bigint, fan_out bigint
) LANGUAGE sql STABLE SET search_path = '' SET enable_nestloop = off SET jit = off AS $$
  WITH entry AS MATERIALIZED (
    SELECT g.nr, g.job_id, e.position, e.task, e.task ->> 'name' AS name,
           e.task -> 'name' = g.graph -> 'result' AS is_result,
           CASE WHEN e.task ? 'each' THEN jsonb_array_length(e.task -> 'each') ELSE 1 END AS size
      FROM unnest(p_job_ids, p_graphs) WITH ORDINALITY AS g(job_id, graph, nr)
     CROSS JOIN LATERAL jsonb_array_elements(g.graph -> 'tasks') WITH ORDINALITY AS e(task, position)
  ), need AS MATERIALIZED (
    SELECT t.nr, t.name, t.size, n.name AS needed
      FROM entry t CROSS JOIN LATERAL jsonb_array_elements_text(nullif(t.task -> 'needs', 'null')) AS n(name)
  )
  SELECT e.nr, e.job_id, e.task, e.name, e.is_result, e.size,
         coalesce(sum(e.size) OVER (PARTITION BY e.nr ORDER BY e.position
                                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint,
         coalesce(i.n, 0), coalesce(o.n, 0)
    FROM entry e
    LEFT JOIN (SELECT n.nr, n.name, sum(needed.size)::bigint AS n FROM need n
                 JOIN entry needed ON needed.nr = n.nr AND needed.name = n.needed
                GROUP BY n.nr, n.name) i ON i.nr = e.nr AND i.name = e.name
    LEFT JOIN (SELECT n.nr, n.needed, sum(n.size)::bigint AS n FROM need n
                GROUP BY n.nr, n.needed) o ON o.nr = e.nr AND o.needed = e.name
$$;

-- insert_graphs: the tasks of new jobs, in the order of their graphs, and what they need of each other.
-- The jobs are ours alone: just made, or held through their plan task. Refuses invalid graphs.
-- Planned once for each connection: for a small job, planning would take longer than everything else.
CREATE FUNCTION shoal.insert_graphs(p_job_ids uuid[], p_graphs jsonb[]) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_wrong    text := shoal.wrong_in_graphs(p_job_ids, p_graphs);
  v_id       text := shoal.uuid7()::text;
  v_id_start text := left(v_id, 24);
  v_id_end   bigint := ('x' || right(v_id, 12))::bit(48)::bigint / 2;  -- half of it: room to count up
BEGIN
  IF v_wrong IS NOT NULL THEN
    PERFORM shoal.refuse('SH400', 'invalid_graph', v_wrong);
  END IF;

  -- Jobs of one user that begin together take their turns one after the other.
  WITH made AS MATERIALIZED (
    SELECT e.nr, e.job_id, sum(e.size)::bigint AS size,
           min(e.preceding + 1) FILTER (WHERE e.is_result) AS result
      FROM shoal.graph_entries(p_job_ids, p_graphs) e GROUP BY e.nr, e.job_id
  ), placed AS MATERIALIZED (
    SELECT m.job_id, m.size, m.result, j.user_id, j.priority,
           row_number() OVER turn AS place, sum(m.size) OVER turn - m.size AS before
      FROM made m JOIN public.jobs j ON j.id = m.job_id
    WINDOW turn AS (PARTITION BY j.user_id, j.priority ORDER BY m.nr ROWS UNBOUNDED PRECEDING)
  ), turns AS MATERIALIZED (  -- one look for each user and priority: it sees none of the rows changed here
    SELECT p.user_id, p.priority, shoal.next_turn(p.job_id, p.user_id, p.priority) AS begins
      FROM placed p WHERE p.place = 1
  )
  UPDATE public.jobs j
     SET turn = t.begins, turn_ends = t.begins + shoal.place_in_turn(t.size), result_sequence = t.result
    FROM (SELECT p.job_id, p.size, p.result, u.begins + shoal.place_in_turn(p.before::bigint) AS begins
            FROM placed p JOIN turns u ON u.user_id = p.user_id AND u.priority = p.priority) t
   WHERE j.id = t.job_id;

  -- What an entry says is read once, and its tasks are numbered: the ids follow each other from a random one.
  INSERT INTO public.job_tasks (id, job_id, name, task_type, executor, sequence, phase, input, max_attempts,
    backoff_s, timeout_s, waiting_on, fan_in, fan_out, order_key)
  WITH entry AS MATERIALIZED (
    SELECT e.nr, e.job_id, e.name, e.preceding, e.fan_in, e.fan_out, e.task -> 'each' AS each,
           nullif(e.task -> 'input', 'null') AS input, e.task ->> 'task_type' AS task_type,
           coalesce(e.task ->> 'executor', 'worker') AS executor,
           coalesce(array_position(j.phase_names, e.task ->> 'phase'), 2) AS phase,
           coalesce((e.task ->> 'max_attempts')::int, 3) AS max_attempts,
           coalesce((e.task ->> 'backoff_s')::real, 5) AS backoff_s, (e.task ->> 'timeout_s')::real AS timeout_s,
           j.turn - (j.priority + coalesce((e.task ->> 'priority')::int, 0)) * 60000000::bigint AS turn
      FROM shoal.graph_entries(p_job_ids, p_graphs) e
      JOIN public.jobs j ON j.id = e.job_id
  )
  SELECT (v_id_start || lpad(to_hex(v_id_end + row_number() OVER (ORDER BY e.nr, e.preceding, i.number)), 12, '0'))::uuid,
         e.job_id, CASE WHEN i.number IS NULL THEN e.name ELSE e.name || '-' || i.number END,
         e.task_type, e.executor, e.preceding + coalesce(i.number, 1), e.phase, coalesce(i.input, '{}'),
         e.max_attempts, e.backoff_s, e.timeout_s, e.fan_in, e.fan_in, e.fan_out,
         e.turn + shoal.place_in_turn(e.preceding + coalesce(i.number, 1))
    FROM entry e
   CROSS JOIN LATERAL (
      SELECT NULL::bigint AS number, e.input WHERE e.each IS NULL
      UNION ALL
      SELECT one.number, nullif(one.input, 'null')
        FROM jsonb_array_elements(e.each) WITH ORDINALITY AS one(input, number)
    ) i;

  IF NOT EXISTS (SELECT FROM unnest(p_graphs) AS g(graph)
                  WHERE jsonb_path_exists(g.graph, '$.tasks[*].needs[*]')) THEN
    RETURN;
  END IF;
  -- By the place of each single task: a range of places would be compared with every task of its job.
  INSERT INTO public.task_edges (needs, task_id, on_failure)
  SELECT n.id, t.id, coalesce(e.task ->> 'on_failure', 'fail')
    FROM shoal.graph_entries(p_job_ids, p_graphs) e
   CROSS JOIN LATERAL jsonb_array_elements_text(nullif(e.task -> 'needs', 'null')) AS need(name)
    JOIN shoal.graph_entries(p_job_ids, p_graphs) f ON f.nr = e.nr AND f.name = need.name
   CROSS JOIN LATERAL generate_series(e.preceding + 1, e.preceding + e.size) AS its(place)
   CROSS JOIN LATERAL generate_series(f.preceding + 1, f.preceding + f.size) AS needed(place)
    JOIN public.job_tasks t ON t.job_id = e.job_id AND t.sequence = its.place
    JOIN public.job_tasks n ON n.job_id = f.job_id AND n.sequence = needed.place
   WHERE e.fan_in > 0;
END
$$;

-- plan_jobs: replace the plan tasks this worker holds by the graphs it worked out, all of them or none, in one
-- step. Returns only what was not planned by this call, with its verdict: already_completed (under this very
-- claim, by an earlier call) or lease_lost.
-- Locks: the plan tasks by id, then their jobs by id.
CREATE FUNCTION shoal.plan_jobs(
  p_worker_id text, p_task_ids uuid[], p_claim_tokens uuid[], p_graphs jsonb[]
) RETURNS TABLE (task_id uuid, verdict text) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_held   uuid[];
  v_jobs   uuid[];
  v_graphs jsonb[];
BEGIN
  PERFORM FROM public.job_tasks t WHERE t.id = ANY (p_task_ids) ORDER BY t.id FOR UPDATE;
  SELECT array_agg(t.id ORDER BY g.nr), array_agg(t.job_id ORDER BY g.nr), array_agg(g.graph ORDER BY g.nr)
    INTO v_held, v_jobs, v_graphs
    FROM unnest(p_task_ids, p_claim_tokens, p_graphs) WITH ORDINALITY AS g(id, token, graph, nr)
    JOIN public.job_tasks t ON t.id = g.id
   WHERE t.status = 'claimed' AND t.worker_id = p_worker_id AND t.claim_token = g.token;
  IF v_held IS NOT NULL THEN
    PERFORM FROM public.jobs j WHERE j.id = ANY (v_jobs) ORDER BY j.id FOR NO KEY UPDATE;
    PERFORM shoal.insert_graphs(v_jobs, v_graphs);
    UPDATE public.job_tasks t SET status = 'complete', finished_at = clock_timestamp()
     WHERE t.id = ANY (v_held);
    DELETE FROM public.task_leases l WHERE l.task_id = ANY (v_held);
    PERFORM pg_notify('shoal_tasks', '');
  END IF;
  RETURN QUERY
    SELECT g.id, CASE WHEN t.status = 'complete' AND t.worker_id = p_worker_id AND t.claim_token = g.token
                      THEN 'already_completed' ELSE 'lease_lost' END
      FROM unnest(p_task_ids, p_claim_tokens) AS g(id, token)
      LEFT JOIN public.job_tasks t ON t.id = g.id
     WHERE NOT g.id = ANY (coalesce(v_held, '{}'));
END
$$;

REVOKE ALL ON FUNCTION shoal.wrong_in_graphs, shoal.graph_entries, shoal.insert_graphs, shoal.plan_jobs
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.plan_jobs TO service_role, shoal_worker;
