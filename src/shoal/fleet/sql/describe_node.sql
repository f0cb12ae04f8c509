-- describe_node: what a node says of itself has changed
-- params: node_id uuid, platform text, version text, engines text[]
-- returns: none
-- locks: the node
UPDATE public.nodes SET platform = $2, version = $3, engines = $4 WHERE id = $1
