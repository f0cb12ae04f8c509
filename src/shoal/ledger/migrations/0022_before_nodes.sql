-- Nodes, who may use them, configs; and how tasks of the executor `fleet` are claimed.
--
-- A node is its key. Until somebody claims it with its code it belongs to nobody and runs nothing. Without a row in
-- nodes_permissions it serves its owner alone.
--
-- A config is named by the hash of its text and never changes: whoever stores the same text gets the same name, and
-- nobody can put another text under it. One that no task named for a long time is deleted (delete_old_configs.sql).
--
-- Fleet tasks are held by the logical worker `fleet`: any sentinel goes on with them. They are exempt from stale
-- reclaim (0005); their claim token stands in their plan in the brain.

CREATE TABLE public.nodes (
  id            uuid PRIMARY KEY DEFAULT shoal.uuid7(),
  user_id       uuid,
  public_key    bytea NOT NULL UNIQUE CHECK (octet_length(public_key) = 32),
  name          text NOT NULL DEFAULT '' CHECK (length(name) <= 100),
  claim_code    text UNIQUE CHECK (length(claim_code) BETWEEN 8 AND 40),
  max_parallel  int CHECK (max_parallel BETWEEN 1 AND 1024),
  paused        boolean NOT NULL DEFAULT false,
  platform      text NOT NULL DEFAULT '' CHECK (length(platform) <= 100),
  version       text NOT NULL DEFAULT '' CHECK (length(version) <= 100),
  engines       text[] NOT NULL DEFAULT '{}' CHECK (cardinality(engines) <= 64),
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  claimed_at    timestamptz,
  changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at  timestamptz,
  revoked_at    timestamptz,
  CONSTRAINT node_is_claimed_once CHECK ((user_id IS NULL) = (claimed_at IS NULL) AND (user_id IS NULL OR claim_code IS NULL))
);
CREATE INDEX nodes_of_user ON public.nodes (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX nodes_changed ON public.nodes (changed_at);
CREATE INDEX nodes_unclaimed ON public.nodes (created_at) WHERE user_id IS NULL;

CREATE TABLE public.nodes_permissions (
  node_id      uuid NOT NULL REFERENCES public.nodes (id) ON DELETE CASCADE,
  access_type  text NOT NULL CHECK (access_type IN ('public', 'user', 'discord')),
  target_id    text NOT NULL DEFAULT '' CHECK (target_id ~ '^[A-Za-z0-9-]{0,100}$'),
  PRIMARY KEY (node_id, access_type, target_id),
  CONSTRAINT public_has_no_target CHECK ((access_type = 'public') = (target_id = ''))
);
CREATE INDEX nodes_permissions_of_target ON public.nodes_permissions (access_type, target_id);

CREATE TABLE public.configs (
  hash        text PRIMARY KEY,
  body        text NOT NULL CHECK (octet_length(body) <= 524288),
  created_by  uuid,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  used_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT config_is_named_by_its_text CHECK (hash = encode(sha256(convert_to(body, 'UTF8')), 'hex'))
);

CREATE INDEX configs_by_use ON public.configs (used_at);

CREATE INDEX job_tasks_fleet_ready ON public.job_tasks (order_key, id)
  WHERE executor = 'fleet' AND status = 'pending' AND waiting_on = 0 AND NOT delayed;
CREATE INDEX job_tasks_fleet_claimed ON public.job_tasks (id) WHERE executor = 'fleet' AND status = 'claimed';

-- store_config: keep a text under its hash; returns the hash. Storing it again only says that it is still used.
CREATE FUNCTION public.store_config(p_body text) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_hash text := encode(sha256(convert_to(p_body, 'UTF8')), 'hex');
BEGIN
  IF octet_length(p_body) > 524288 THEN
    PERFORM shoal.refuse('SH413', 'config_too_large',
      format('The config has %s bytes; 524288 are allowed.', octet_length(p_body)), 'Keep large data in an artifact.');
  END IF;
  INSERT INTO public.configs (hash, body, created_by) VALUES (v_hash, p_body, auth.uid())
  ON CONFLICT (hash) DO UPDATE SET used_at = clock_timestamp();
  RETURN v_hash;
END
$$;

-- node_event: tell whoever listens what happened to a node, with its name, under its owner.
CREATE FUNCTION shoal.node_event(p_node_id uuid, p_type text) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = '' AS $$
  SELECT shoal.append_events('node', ARRAY[n.id::text], ARRAY[p_type],
                             ARRAY[jsonb_build_object('node_id', n.id, 'name', n.name)], ARRAY[n.user_id])
    FROM public.nodes n WHERE n.id = p_node_id
$$;

-- claim_node: whoever shows the code of a node owns it from now on. Returns its id.
CREATE FUNCTION public.claim_node(p_claim_code text, p_name text DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_node uuid;
BEGIN
  IF auth.uid() IS NULL THEN
    PERFORM shoal.refuse('SH403', 'node_owner_missing', 'Only a user can own a node.', 'Use a user''s token.');
  END IF;
  UPDATE public.nodes n
     SET user_id = auth.uid(), claimed_at = clock_timestamp(), claim_code = NULL, name = coalesce(p_name, n.name),
         changed_at = clock_timestamp()
   WHERE n.claim_code = p_claim_code AND n.user_id IS NULL AND n.revoked_at IS NULL
  RETURNING n.id INTO v_node;
  IF v_node IS NULL THEN
    PERFORM shoal.refuse('SH404', 'claim_code_unknown', 'No node that can be claimed has this code.',
      'A node shows its code when it starts; a code works once.');
  END IF;
  PERFORM shoal.node_event(v_node, 'node.claimed');
  RETURN v_node;
END
$$;

-- The caller's node, locked; somebody else's is not found, nor is one that was revoked.
CREATE FUNCTION shoal.lock_own_node(p_node_id uuid) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM FROM public.nodes n
    WHERE n.id = p_node_id AND n.revoked_at IS NULL AND (shoal.is_service() OR n.user_id = auth.uid()) FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM shoal.refuse('SH404', 'node_not_found', format('There is no node %s.', p_node_id),
      '''shoal node list'' shows the nodes you own.');
  END IF;
END
$$;

-- change_node: what the owner sets. p_changes has any of name, max_parallel (null for no limit) and paused.
CREATE FUNCTION public.change_node(p_node_id uuid, p_changes jsonb) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.lock_own_node(p_node_id);
  UPDATE public.nodes n
     SET name = coalesce(p_changes ->> 'name', n.name),
         max_parallel = CASE WHEN p_changes ? 'max_parallel' THEN (p_changes ->> 'max_parallel')::int ELSE n.max_parallel END,
         paused = coalesce((p_changes ->> 'paused')::boolean, n.paused), changed_at = clock_timestamp()
   WHERE n.id = p_node_id;
  PERFORM shoal.node_event(p_node_id, 'node.changed');
END
$$;

-- set_node_access: whose jobs the node runs besides its owner's: all of p_access, [{access_type, target_id}, …].
CREATE FUNCTION public.set_node_access(p_node_id uuid, p_access jsonb) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.lock_own_node(p_node_id);
  DELETE FROM public.nodes_permissions p WHERE p.node_id = p_node_id;
  INSERT INTO public.nodes_permissions (node_id, access_type, target_id)
  SELECT DISTINCT p_node_id, a.access_type, coalesce(a.target_id, '')
    FROM jsonb_to_recordset(p_access) AS a(access_type text, target_id text);
  UPDATE public.nodes n SET changed_at = clock_timestamp() WHERE n.id = p_node_id;
  PERFORM shoal.node_event(p_node_id, 'node.access_changed');
END
$$;

-- revoke_node: the node may never come back. Its row stays, so that its key stays known.
CREATE FUNCTION public.revoke_node(p_node_id uuid) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM shoal.lock_own_node(p_node_id);
  UPDATE public.nodes n SET revoked_at = clock_timestamp(), changed_at = clock_timestamp() WHERE n.id = p_node_id;
  PERFORM shoal.node_event(p_node_id, 'node.revoked');
END
$$;

-- claim_fleet_tasks: take ready tasks for the fleet, best first, each under a token of its own.
-- Locks: the tasks it takes, skipping those another claim holds; then their jobs by id (0004).
CREATE FUNCTION shoal.claim_fleet_tasks(p_max_tasks int) RETURNS SETOF uuid LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
BEGIN
  PERFORM shoal.promote_due_tasks();
  RETURN QUERY
    WITH ready AS MATERIALIZED (
      SELECT r.id FROM public.job_tasks r
       WHERE r.executor = 'fleet' AND r.status = 'pending' AND r.waiting_on = 0 AND NOT r.delayed
       ORDER BY r.order_key, r.id LIMIT p_max_tasks FOR UPDATE SKIP LOCKED
    )
    UPDATE public.job_tasks t
       SET status = 'claimed', worker_id = 'fleet', claim_token = gen_random_uuid(),
           claimed_at = clock_timestamp(), attempts = t.attempts + 1
      FROM ready WHERE t.id = ready.id
    RETURNING t.id;
END
$$;

ALTER TABLE public.nodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.nodes_permissions ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.configs ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON public.nodes, public.nodes_permissions, public.configs
  FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
GRANT SELECT ON public.nodes, public.nodes_permissions TO authenticated;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.nodes, public.nodes_permissions, public.configs TO service_role;

CREATE POLICY users_read_their_nodes ON public.nodes FOR SELECT TO authenticated
  USING (user_id = (SELECT auth.uid()));
CREATE POLICY users_read_permissions_of_their_nodes ON public.nodes_permissions FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.nodes n WHERE n.id = node_id));
CREATE POLICY service_does_everything ON public.nodes TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.nodes_permissions TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_does_everything ON public.configs TO service_role USING (true) WITH CHECK (true);

REVOKE ALL ON FUNCTION
  public.store_config, public.claim_node, public.change_node, public.set_node_access, public.revoke_node,
  shoal.lock_own_node, shoal.claim_fleet_tasks, shoal.node_event
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION
  public.store_config, public.claim_node, public.change_node, public.set_node_access, public.revoke_node
  TO authenticated, service_role;
GRANT EXECUTE ON FUNCTION shoal.claim_fleet_tasks, shoal.node_event TO service_role;
