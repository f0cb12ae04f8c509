-- reclaim_chunks: forget nodes that were silent for `silence_ms`, until `most` chunks came back; all they held is
--   tried again. Silence counts only while somebody listens: when nobody called this for `gap_ms`, because the
--   brain or every sentinel was away, it counts anew.
-- keys: none
-- args: silence_ms, most, gap_ms
-- returns: for each node: its id, how many chunks it held
-- touches: none
-- uses: clock, plans, nodes, chunks, losing
local silence_ms = tonumber(ARGV[1])
local most = tonumber(ARGV[2])
local gap_ms = tonumber(ARGV[3])
local NODES = 64

local watch = redis.call('HMGET', '{node}:watch', 'since', 'last')
local since = tonumber(watch[1]) or now_ms
if math.abs(now_ms - (tonumber(watch[2]) or 0)) > gap_ms then since = now_ms end
redis.call('HSET', '{node}:watch', 'since', since, 'last', now_ms)
if now_ms - since < silence_ms then return {} end

local lost, reclaimed = {}, 0
local silent = redis.call('ZRANGE', '{node}:alive', '-inf', now_ms - silence_ms, 'BYSCORE', 'LIMIT', 0, NODES)
for _, id in ipairs(silent) do
  if reclaimed >= most then break end
  local held = forget_node(node_of(id), true)
  reclaimed = reclaimed + held
  lost[#lost + 1] = id
  lost[#lost + 1] = held
end
save_all()
return lost
