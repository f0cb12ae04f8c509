-- Who may see and do what with jobs. Nothing is granted that is not written here.
--
--   authenticated   reads its own jobs with their tasks, artifacts of finished attempts and logs;
--                   starts jobs through create_job, and changes no row directly
--   service_role    everything
--   shoal_worker    the claiming functions and nothing else: no table at all
--   anon            nothing

ALTER TABLE public.job_types ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.job_tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.task_edges ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.task_leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.job_artifacts ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.task_logs ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.task_limits ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.idempotency_keys ENABLE ROW LEVEL SECURITY;

-- Supabase grants everything in `public` to its roles by default.
REVOKE ALL ON public.job_types, public.jobs, public.job_tasks, public.task_edges, public.task_leases,
  public.job_artifacts, public.task_logs, public.task_limits, public.idempotency_keys FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
REVOKE ALL ON SEQUENCE public.task_logs_id_seq FROM PUBLIC, anon, authenticated, service_role, shoal_worker;

GRANT SELECT ON public.job_types, public.jobs, public.job_tasks, public.task_edges, public.task_leases,
  public.job_artifacts, public.task_logs TO authenticated;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.job_types, public.jobs, public.job_tasks,
  public.task_edges, public.task_leases, public.job_artifacts, public.task_logs, public.task_limits TO service_role;

CREATE POLICY everybody_reads_job_types ON public.job_types FOR SELECT TO authenticated USING (true);
CREATE POLICY users_read_their_jobs ON public.jobs FOR SELECT TO authenticated
  USING (user_id = (SELECT auth.uid()));

-- The sub-selects on jobs are under the policy above.
CREATE POLICY users_read_their_tasks ON public.job_tasks FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.jobs j WHERE j.id = job_id));
CREATE POLICY users_read_their_edges ON public.task_edges FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.job_tasks t WHERE t.id = task_edges.task_id));
CREATE POLICY users_read_their_leases ON public.task_leases FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.job_tasks t WHERE t.id = task_leases.task_id));
CREATE POLICY users_read_finished_artifacts ON public.job_artifacts FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.job_tasks t
                  WHERE t.id = job_artifacts.task_id AND t.status = 'complete'
                    AND t.claim_token = job_artifacts.claim_token));
CREATE POLICY users_read_their_logs ON public.task_logs FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.jobs j WHERE j.id = job_id));

CREATE POLICY service_does_everything ON public.job_types TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.jobs TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.job_tasks TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.task_edges TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.task_leases TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.job_artifacts TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.task_logs TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.task_limits TO service_role USING (true) WITH CHECK (true);

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA shoal FROM PUBLIC, anon, authenticated;
REVOKE ALL ON FUNCTION
  public.claim_tasks, public.heartbeat_task, public.complete_task, public.fail_task,
  public.reclaim_stale_tasks, public.create_job, public.create_jobs
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION
  public.claim_tasks, public.heartbeat_task, public.complete_task, public.fail_task,
  public.reclaim_stale_tasks
  TO service_role, shoal_worker;
GRANT EXECUTE ON FUNCTION public.create_job, public.create_jobs TO authenticated, service_role;
GRANT EXECUTE ON FUNCTION
  shoal.claim_work, shoal.heartbeat_tasks, shoal.complete_tasks, shoal.fail_tasks, shoal.release_tasks,
  shoal.snooze_tasks, shoal.promote_due_tasks, shoal.register_job_type, shoal.add_artifacts
  TO service_role, shoal_worker;
-- A worker makes sure that the schema is the one it was written for.
GRANT SELECT ON shoal.migrations TO service_role, shoal_worker;
-- Called from column defaults and constraints, thus with the rights of whoever writes the row.
GRANT EXECUTE ON FUNCTION shoal.uuid7, shoal.job_progress TO service_role;
