-- list_nodes_open_to_guild: the nodes whose owners let the members of a Discord server use them
-- params: guild text
-- returns: rows (id, user_id, name, max_parallel, paused), at most 1000
-- locks: none
SELECT n.id, n.user_id, n.name, n.max_parallel, n.paused
  FROM public.nodes_permissions p
  JOIN public.nodes n ON n.id = p.node_id
 WHERE p.access_type = 'discord' AND p.target_id = $1 AND n.user_id IS NOT NULL AND n.revoked_at IS NULL
 ORDER BY n.id
 LIMIT 1000
