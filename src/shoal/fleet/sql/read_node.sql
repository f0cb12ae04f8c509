-- read_node: one node, if the caller may see it
-- params: node_id uuid
-- returns: one row as of list_nodes, or none
-- locks: none
SELECT n.id, n.name, n.platform, n.version, n.engines, n.max_parallel, n.paused, n.public_key, n.created_at,
       n.claimed_at, n.last_seen_at, n.revoked_at,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('accessType', p.access_type, 'targetId', p.target_id)
                                  ORDER BY p.access_type, p.target_id), '[]')
          FROM public.nodes_permissions p WHERE p.node_id = n.id) AS access
  FROM public.nodes n
 WHERE n.id = $1 AND n.user_id IS NOT NULL
