-- Data sets that can be pushed, and how the coordinator of the mesh takes the tasks that say so.
--
-- Their bytes and manifests are in the vault, under keys that follow from their hashes. A name may have several
-- versions, the last published one is meant. Data sets belong to whoever runs the servers: operators alone see them.

CREATE TABLE public.data_sets (
  id            text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{64}$'),
  name          text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
  size_bytes    bigint NOT NULL CHECK (size_bytes > 0),
  shards        integer NOT NULL CHECK (shards > 0),
  files         integer NOT NULL CHECK (files > 0),
  published_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX data_sets_by_name ON public.data_sets (name, published_at DESC);

-- claim_mesh_task: take the next ready task for the mesh; none while there is one that is held. Servers get one data
-- set at a time. Whoever holds the lease of the coordinator calls it.
-- Locks: the task it takes, skipping one that another claim holds; then its job (0004).
CREATE FUNCTION shoal.claim_mesh_task() RETURNS SETOF uuid LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.promote_due_tasks();
  RETURN QUERY
    WITH ready AS MATERIALIZED (
      SELECT r.id FROM public.job_tasks r
       WHERE r.executor = 'mesh' AND r.status = 'pending' AND r.waiting_on = 0 AND NOT r.delayed
         AND NOT EXISTS (SELECT FROM public.job_tasks h WHERE h.executor = 'mesh' AND h.status = 'claimed')
       ORDER BY r.order_key, r.id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE public.job_tasks t
       SET status = 'claimed', worker_id = 'mesh', claim_token = gen_random_uuid(),
           claimed_at = clock_timestamp(), attempts = t.attempts + 1
      FROM ready
     WHERE t.id = ready.id
    RETURNING t.id;
END
$$;

CREATE INDEX job_tasks_of_mesh ON public.job_tasks (status, order_key, id)
  WHERE executor = 'mesh' AND status IN ('pending', 'claimed');

SELECT shoal.register_job_type('mesh.push', '1',
  '{"type": "object", "properties": {"dataSet": {"type": "string"}, "to": {"type": "array"}}}', '[]');

ALTER TABLE public.data_sets ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON public.data_sets FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.data_sets TO service_role;
CREATE POLICY service_does_everything ON public.data_sets TO service_role USING (true) WITH CHECK (true);
REVOKE ALL ON FUNCTION shoal.claim_mesh_task FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.claim_mesh_task TO service_role;
