-- hand_back_chunks: the node will not compute these chunks; they are tried again, and nobody is blamed. One that is
--   `leaving` hands back all it holds and is forgotten.
-- keys: none
-- args: node, leaving, ids...
-- returns: the ids that it held
-- touches: none
-- uses: clock, plans, nodes, chunks, losing
local node = node_of(ARGV[1])
local leaving = ARGV[2] == '1'

if not node then return {} end
local held = {}
if leaving then
  held = redis.call('HKEYS', node.chunks)
  forget_node(node, false)
else
  for position = 3, #ARGV do
    local id = ARGV[position]
    if redis.call('HEXISTS', node.chunks, id) == 1 then
      lose(node, id, false)
      held[#held + 1] = id
    end
  end
end
save_all()
return held
