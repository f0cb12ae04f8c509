-- reclaim_chunks: forget nodes that were silent for `silence_ms`, `most` of them; all they held is tried again.
-- keys: none
-- args: silence_ms, most
-- returns: for each node: its id, how many chunks it held
-- touches: none
-- uses: clock, plans, nodes, chunks, losing
local silence_ms = tonumber(ARGV[1])
local most = tonumber(ARGV[2])

local lost = {}
local silent = redis.call('ZRANGE', '{node}:alive', '-inf', now_ms - silence_ms, 'BYSCORE', 'LIMIT', 0, most)
for _, id in ipairs(silent) do
  lost[#lost + 1] = id
  lost[#lost + 1] = forget_node(node_of(id))
end
save_all()
return lost
