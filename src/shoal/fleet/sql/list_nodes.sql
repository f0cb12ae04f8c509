-- list_nodes: a page of the nodes the caller may see, in the order in which they came
-- params: after_id uuid, page_size int
-- returns: rows (id, name, platform, version, engines, max_parallel, paused, public_key, created_at, claimed_at,
--   last_seen_at, revoked_at, access); access is a list of {accessType, targetId}
-- locks: none
SELECT n.id, n.name, n.platform, n.version, n.engines, n.max_parallel, n.paused, n.public_key, n.created_at,
       n.claimed_at, n.last_seen_at, n.revoked_at,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('accessType', p.access_type, 'targetId', p.target_id)
                                  ORDER BY p.access_type, p.target_id), '[]')
          FROM public.nodes_permissions p WHERE p.node_id = n.id) AS access
  FROM public.nodes n
 WHERE n.user_id IS NOT NULL AND n.id > $1
 ORDER BY n.id
 LIMIT $2
