-- assign_chunk: give each of `nodes` the fairest chunks it may run, up to its room and to `most` in all.
--   A node that is unknown, paused or was not heard for `fresh_ms` gets nothing.
-- keys: none
-- args: fresh_ms, most, nodes...
-- returns: for each chunk: node, id, job, iterations, config_hash, seed_offset, engine, seed
-- touches: none
-- uses: clock, plans, nodes, chunks, choosing, picking
local fresh_ms = tonumber(ARGV[1])
local left = tonumber(ARGV[2])

local told = {}
for position = 3, #ARGV do
  local node = node_of(ARGV[position])
  if node and now_ms - node.last_heartbeat <= fresh_ms then
    left = left - fill(node, left, told)
  end
end
save_all()
return told
