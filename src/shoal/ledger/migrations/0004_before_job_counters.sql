-- The counters of a job follow every change of its tasks, whoever makes it.
--
-- The triggers fire once a statement, after it, with all its rows: a batch that completes a thousand
-- tasks of one job updates that job once. They lock jobs by id, after the tasks: the lock order.
-- Locking and updating are two statements, so that the update sees what the lock waited for.

-- Add ns[k] to the element of counters at positions[k].
CREATE FUNCTION shoal.add_at(counters int[], positions int[], ns int[])
RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = '' AS $$
BEGIN
  FOR k IN 1 .. coalesce(cardinality(positions), 0) LOOP
    counters[positions[k]] := coalesce(counters[positions[k]], 0) + ns[k];
  END LOOP;
  RETURN counters;
END
$$;

CREATE FUNCTION shoal.count_new_tasks() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM FROM public.jobs j WHERE j.id IN (SELECT job_id FROM inserted) ORDER BY j.id FOR NO KEY UPDATE;
  UPDATE public.jobs j
     SET tasks_total = j.tasks_total + d.n,
         tasks_open = j.tasks_open + d.opened,
         phase_total = shoal.add_at(j.phase_total, d.phases, d.ns),
         phase_done = shoal.add_at(j.phase_done, d.phases, d.dones),
         updated_at = clock_timestamp()
    FROM (
      SELECT p.job_id, sum(p.n)::int AS n, sum(p.opened)::int AS opened,
             array_agg(p.phase) AS phases, array_agg(p.n) AS ns, array_agg(p.done) AS dones
        FROM (
          SELECT i.job_id, i.phase::int AS phase, count(*)::int AS n,
                 count(*) FILTER (WHERE i.status IN ('pending', 'claimed'))::int AS opened,
                 count(*) FILTER (WHERE i.status = 'complete')::int AS done
            FROM inserted i GROUP BY i.job_id, i.phase
        ) p
       GROUP BY p.job_id
    ) d
   WHERE j.id = d.job_id;
  RETURN NULL;
END
$$;

CREATE TRIGGER count_new_tasks AFTER INSERT ON public.job_tasks
  REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_new_tasks();

-- A phase counts what completed: a job that failed or was cancelled keeps the progress it had made.
-- A job starts with its first claim and ends with its last task: complete, or failed when any task
-- failed. A cancelled job stays cancelled. A task that is retried opens its job again.
CREATE FUNCTION shoal.count_task_changes() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_jobs     uuid[];
  v_phases   int[];
  v_opened   int[];
  v_done     int[];
  v_failed   int[];
  v_cancelled int[];
  v_counts   boolean;
BEGIN
  SELECT array_agg(c.job_id), array_agg(c.phase), array_agg(c.opened), array_agg(c.done), array_agg(c.failed),
         array_agg(c.cancelled), bool_or(c.opened <> 0 OR c.failed <> 0 OR c.cancelled <> 0)
    INTO v_jobs, v_phases, v_opened, v_done, v_failed, v_cancelled, v_counts
    FROM (
      SELECT n.job_id, n.phase::int AS phase,
             sum((n.status IN ('pending', 'claimed'))::int
                 - (o.status IN ('pending', 'claimed'))::int)::int AS opened,
             sum((n.status = 'complete')::int - (o.status = 'complete')::int)::int AS done,
             sum((n.status = 'failed')::int - (o.status = 'failed')::int)::int AS failed,
             sum((n.status = 'cancelled')::int - (o.status = 'cancelled')::int)::int AS cancelled
        FROM before o JOIN after n ON n.id = o.id
       WHERE n.status <> o.status
       GROUP BY n.job_id, n.phase
    ) c;
  IF v_jobs IS NULL THEN
    RETURN NULL;
  END IF;

  PERFORM FROM public.jobs j
    WHERE j.id = ANY (v_jobs) AND (v_counts OR j.status = 'queued')
    ORDER BY j.id FOR NO KEY UPDATE;
  UPDATE public.jobs j
     SET tasks_open = j.tasks_open + d.opened,
         tasks_failed = j.tasks_failed + d.failed,
         tasks_cancelled = j.tasks_cancelled + d.cancelled,
         phase_done = shoal.add_at(j.phase_done, d.phases, d.dones),
         status = s.status,
         started_at = coalesce(j.started_at, clock_timestamp()),
         finished_at = CASE WHEN s.ends THEN clock_timestamp() WHEN s.status = 'processing' THEN NULL
                            ELSE j.finished_at END,
         result = CASE WHEN s.ends AND s.status = 'complete' THEN
                    (SELECT t.output FROM public.job_tasks t
                      WHERE t.job_id = j.id AND t.sequence = j.result_sequence) END,
         error = CASE WHEN s.ends AND s.status = 'failed' THEN
                   (SELECT left(t.error, 16384) FROM public.job_tasks t
                     WHERE t.job_id = j.id AND t.status = 'failed' ORDER BY t.finished_at, t.id LIMIT 1)
                   WHEN s.status = 'cancelled' THEN j.error END,
         updated_at = clock_timestamp()
    FROM (
      SELECT c.job_id, sum(c.opened)::int AS opened, sum(c.failed)::int AS failed,
             sum(c.cancelled)::int AS cancelled, array_agg(c.phase) AS phases,
             array_agg(c.done) AS dones
        FROM unnest(v_jobs, v_phases, v_opened, v_done, v_failed, v_cancelled)
             AS c(job_id, phase, opened, done, failed, cancelled)
       GROUP BY c.job_id
    ) d
    JOIN public.jobs now ON now.id = d.job_id
    CROSS JOIN LATERAL (SELECT now.tasks_open + d.opened = 0 AS ends) e
    CROSS JOIN LATERAL (
      SELECT e.ends, CASE
               WHEN now.status = 'cancelled' THEN 'cancelled'
               WHEN NOT e.ends THEN 'processing'
               WHEN now.tasks_failed + d.failed > 0 THEN 'failed'
               WHEN now.tasks_cancelled + d.cancelled = now.tasks_total THEN 'cancelled'
               ELSE 'complete' END AS status
    ) s
   WHERE j.id = d.job_id AND (v_counts OR j.status = 'queued');
  RETURN NULL;
END
$$;

CREATE TRIGGER count_task_changes AFTER UPDATE ON public.job_tasks
  REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION shoal.count_task_changes();
