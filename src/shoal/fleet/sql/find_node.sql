-- find_node: the node with this key
-- params: public_key bytea
-- returns: one row (id, is_revoked), or none
-- locks: none
SELECT n.id, n.revoked_at IS NOT NULL AS is_revoked FROM public.nodes n WHERE n.public_key = $1
