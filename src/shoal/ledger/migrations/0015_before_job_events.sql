-- The events of jobs and of their tasks, written by triggers on whole statements in the transaction that
-- made them true, whoever made it.
--
--   job.created  job.completed  job.failed  job.cancelled  job.retried
--   job.started                                                                 only where a sink wants it
--   task.claimed  task.completed  task.failed  task.cancelled  task.retrying    only where a sink names them
--
-- The aggregate of all of them is the job: its row is locked from its change until the commit, so the events
-- of a job are told in the order in which they happened; job.completed comes after those of its tasks.

-- Counts the changes of status: the aggregate_version of the job's events.
ALTER TABLE public.jobs ADD COLUMN aggregate_version bigint NOT NULL DEFAULT 1;

CREATE FUNCTION shoal.count_job_change() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  NEW.aggregate_version := OLD.aggregate_version + 1;
  RETURN NEW;
END
$$;
CREATE TRIGGER count_job_change BEFORE UPDATE OF status ON public.jobs
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION shoal.count_job_change();

-- What all events of a job say.
CREATE FUNCTION shoal.job_event_payload(p_job public.jobs) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_strip_nulls(jsonb_build_object(
    'v', 1, 'jobId', p_job.id, 'jobType', p_job.type, 'status', p_job.status, 'uniqueKey', p_job.unique_key,
    'error', left(p_job.error, 2000)))
$$;

CREATE FUNCTION shoal.append_events_of_new_jobs() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.append_events('job', array_agg(i.id::text), array_agg('job.created'::text),
            array_agg(shoal.job_event_payload(i)), array_agg(i.user_id), array_agg(i.aggregate_version))
     FROM inserted i HAVING count(*) > 0;
  RETURN NULL;
END
$$;
CREATE TRIGGER append_events_of_new_jobs AFTER INSERT ON public.jobs
  REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION shoal.append_events_of_new_jobs();

CREATE FUNCTION shoal.append_events_of_changed_jobs() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.append_events('job', array_agg(c.id::text), array_agg(c.event_type), array_agg(c.payload),
            array_agg(c.user_id), array_agg(c.aggregate_version))
     FROM (
       SELECT n.id, n.user_id, n.aggregate_version, shoal.job_event_payload(n)
              || CASE WHEN n.status = 'complete' THEN jsonb_build_object('result', n.result) ELSE '{}' END AS payload,
              CASE n.status WHEN 'complete' THEN 'job.completed' WHEN 'failed' THEN 'job.failed'
                            WHEN 'cancelled' THEN 'job.cancelled'
                            ELSE CASE o.status WHEN 'queued' THEN 'job.started' ELSE 'job.retried' END END AS event_type
         FROM before o JOIN after n ON n.id = o.id
        WHERE n.status <> o.status
     ) c
    HAVING count(*) > 0;
  RETURN NULL;
END
$$;
CREATE TRIGGER append_events_of_changed_jobs AFTER UPDATE ON public.jobs
  REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION shoal.append_events_of_changed_jobs();

-- Before count_task_changes, by its name: what happened to a task comes before what it means for its job.
-- Where nobody names such events, it is one look at a table of a few rows.
CREATE FUNCTION shoal.append_events_of_changed_tasks() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.event_sink_t s, unnest(s.patterns) AS p WHERE starts_with(p, 'task.')) THEN
    RETURN NULL;
  END IF;
  PERFORM shoal.append_events('job', array_agg(c.job_id::text), array_agg(c.event_type), array_agg(c.payload),
            array_agg(c.user_id), p_event_topics => array_agg('task'::text))
     FROM (
       SELECT n.job_id, j.user_id,
              jsonb_strip_nulls(jsonb_build_object(
                'v', 1, 'jobId', n.job_id, 'jobType', j.type, 'taskId', n.id, 'taskName', n.name,
                'taskType', n.task_type, 'executor', n.executor, 'attempt', greatest(n.attempts, o.attempts),
                'worker', coalesce(n.worker_id, o.worker_id),
                'error', CASE WHEN n.status IN ('pending', 'failed', 'cancelled') THEN left(n.error, 2000) END)) AS payload,
              CASE n.status WHEN 'claimed' THEN 'task.claimed' WHEN 'complete' THEN 'task.completed'
                            WHEN 'failed' THEN 'task.failed' WHEN 'cancelled' THEN 'task.cancelled'
                            ELSE 'task.retrying' END AS event_type
         FROM before o JOIN after n ON n.id = o.id JOIN public.jobs j ON j.id = n.job_id
        WHERE n.status <> o.status
        ORDER BY n.id
     ) c
    HAVING count(*) > 0;
  RETURN NULL;
END
$$;
CREATE TRIGGER append_events_of_changed_tasks AFTER UPDATE ON public.job_tasks
  REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION shoal.append_events_of_changed_tasks();

REVOKE ALL ON FUNCTION shoal.count_job_change, shoal.job_event_payload, shoal.append_events_of_new_jobs,
  shoal.append_events_of_changed_jobs, shoal.append_events_of_changed_tasks FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.count_job_change TO service_role;
