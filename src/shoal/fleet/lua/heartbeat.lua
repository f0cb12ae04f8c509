-- heartbeat: the node is alive, and `reported` pairs of chunk and progress are what it works on. A chunk that
--   neither moved nor waited behind one that moved for `stall_ms`, or is held for `longest_ms`, has failed there.
-- keys: none
-- args: node, depth, stall_ms, longest_ms, reported...
-- returns: {'OK', epoch, backlog, digest, ids it lost...}, or {'UNKNOWN_NODE'}. The digest is the SHA-1 of the
--   ids it holds, sorted, each with a line feed after it
-- touches: none
-- uses: clock, plans, nodes, chunks, losing
local node = node_of(ARGV[1])
local depth = ARGV[2]
local stall_ms = tonumber(ARGV[3])
local longest_ms = tonumber(ARGV[4])

if not node then return {'UNKNOWN_NODE'} end
redis.call('HSET', node.state, 'last_heartbeat', now_ms, 'depth', depth)
redis.call('ZADD', '{node}:alive', now_ms, node.id)
node.last_heartbeat = now_ms
weigh_node(node)

local held = {}
local entries = redis.call('HGETALL', node.chunks)
for position = 1, #entries, 2 do
  local assigned, moved, progress = entries[position + 1]:match('(%S+) (%S+) (%S+)')
  held[entries[position]] = {
    assigned = tonumber(assigned), moved = tonumber(moved), progress = tonumber(progress), told = entries[position + 1],
  }
end
local something_moved = false
for position = 5, #ARGV - 1, 2 do
  local chunk, progress = held[ARGV[position]], tonumber(ARGV[position + 1])
  if chunk and progress and progress < math.huge then
    chunk.runs = true
    if progress > chunk.progress then
      chunk.progress, chunk.moved, something_moved = progress, now_ms, true
    end
  end
end

local kept, lost = {}, {}
for id, chunk in pairs(held) do
  if something_moved and not chunk.runs then chunk.moved = now_ms end
  if now_ms - chunk.moved > stall_ms or now_ms - chunk.assigned > longest_ms or not plan_of(parts_of(id)) then
    lose(node, id, true)
    lost[#lost + 1] = id
  else
    local now_told = string.format('%.0f %.0f %.17g', chunk.assigned, chunk.moved, chunk.progress)
    if now_told ~= chunk.told then redis.call('HSET', node.chunks, id, now_told) end
    kept[#kept + 1] = id .. '\n'
  end
end
table.sort(kept)
table.sort(lost)
save_all()
local epoch = tonumber(redis.call('HGET', node.state, 'epoch'))
local answer = {'OK', epoch, #kept, redis.sha1hex(table.concat(kept))}
for _, id in ipairs(lost) do
  answer[#answer + 1] = id
end
return answer
