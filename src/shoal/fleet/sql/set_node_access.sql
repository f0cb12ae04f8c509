-- set_node_access: whose jobs the node runs besides its owner's
-- params: node_id uuid, access jsonb
-- returns: none
-- locks: the node
SELECT public.set_node_access($1, $2)
