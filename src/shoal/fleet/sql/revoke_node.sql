-- revoke_node: the node may never come back
-- params: node_id uuid
-- returns: none
-- locks: the node
SELECT public.revoke_node($1)
