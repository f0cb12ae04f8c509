-- fill_finished: jobs of 1,000 tasks that ended long ago, as if workers had run them
-- params: jobs int
-- The triggers would count what is counted here; session_replication_role keeps them out.
WITH job AS (
  INSERT INTO public.jobs (user_id, type, status, phase_names, phase_ends, phase_total, phase_done,
                           tasks_total, created_at, started_at, finished_at)
  SELECT gen_random_uuid(), 'old', 'complete', '{processing}', '{100}', '{1000}', '{1000}', 1000,
         clock_timestamp() - interval '1 day', clock_timestamp() - interval '1 day',
         clock_timestamp() - interval '1 day'
    FROM generate_series(1, $1::int)
  RETURNING id
)
INSERT INTO public.job_tasks (job_id, name, task_type, sequence, status, output, worker_id, claim_token,
                              claimed_at, attempts, order_key, finished_at)
SELECT job.id, 'noop-' || n, 'noop', n, 'complete', NULL, 'old-worker', gen_random_uuid(),
       clock_timestamp() - interval '1 day', 1, n, clock_timestamp() - interval '1 day'
  FROM job CROSS JOIN generate_series(1, 1000) AS n
