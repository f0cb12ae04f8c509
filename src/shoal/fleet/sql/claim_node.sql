-- claim_node: the caller owns the node with this code from now on
-- params: claim_code text, name text
-- returns: its id
-- locks: the node
SELECT public.claim_node($1, $2)
