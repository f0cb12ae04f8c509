-- revoke_node: forget the node at once and never admit it again; all it held is tried again.
-- keys: none
-- args: node
-- returns: how many chunks it held
-- touches: none
-- uses: clock, plans, nodes, chunks, losing
local id = ARGV[1]

redis.call('SADD', '{node}:revoked', id)
local node = node_of(id)
local held = node and forget_node(node, false) or 0
save_all()
return held
