-- change_node: what the owner sets; changes has any of name, max_parallel and paused
-- params: node_id uuid, changes jsonb
-- returns: none
-- locks: the node
SELECT public.change_node($1, $2)
