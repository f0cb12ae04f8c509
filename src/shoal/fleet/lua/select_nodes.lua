-- select_nodes: find the least loaded nodes that may run the plan `task`, and hand out up to `most` chunks to
--   them in the same step, one at a time. What a node gets is what is fairest, perhaps of another plan.
--   Up to 32 nodes with room are compared exactly, of more a random sample of that many each time.
-- keys: none
-- args: fresh_ms, most, task
-- returns: for each chunk: node, id, job, iterations, config_hash, seed_offset, engine
-- touches: none
-- uses: clock, plans, nodes, chunks, picking
local fresh_ms = tonumber(ARGV[1])
local most = tonumber(ARGV[2])
local plan = plan_of(ARGV[3])
local COMPARED = 32

local function better(node, other)
  if node.backlog ~= other.backlog then return node.backlog < other.backlog end
  return node.id < other.id
end

local passed = {}

local function least_loaded(pools)
  local best
  for _, pool in ipairs(pools) do
    for _, id in ipairs(redis.call('SRANDMEMBER', '{node}:room:' .. pool, COMPARED)) do
      local node = node_of(id)
      if passed[id] then
        -- What is left are second copies of what it holds itself.
      elseif now_ms - node.last_heartbeat > fresh_ms then
        -- It would hide a live one at the next look.
        node.silent = true
        list_node(node, false)
      elseif not best or better(node, best) then
        best = node
      end
    end
  end
  return best
end

local told = {}
local pools = plan and pools_of(plan.lane) or {}
local given = 0
while given < most and plan and redis.call('ZSCORE', '{job}:lane:' .. plan.lane, plan.task) do
  local node = least_loaded(pools)
  if not node then break end
  if hand_out(node, told) then
    given = given + 1
    if room_of(node) == 0 then list_node(node, false) end
  else
    passed[node.id] = true
  end
end
save_all()
return told
