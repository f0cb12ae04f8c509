-- read_node_facts: what sentinels need to know of nodes
-- params: node_ids uuid[]
-- returns: a row per node that is there (id, user_id, name, key_hash, max_parallel, paused, platform, version, engines,
--   is_revoked, access); access is a list of '<type>' or '<type>:<target>'
-- locks: none
SELECT n.id, n.user_id, n.name, encode(sha256(n.public_key), 'hex') AS key_hash, n.max_parallel, n.paused,
       n.platform, n.version, n.engines, n.revoked_at IS NOT NULL AS is_revoked,
       ARRAY(SELECT p.access_type || CASE WHEN p.target_id <> '' THEN ':' || p.target_id ELSE '' END
               FROM public.nodes_permissions p WHERE p.node_id = n.id) AS access
  FROM public.nodes n
 WHERE n.id = ANY ($1)
