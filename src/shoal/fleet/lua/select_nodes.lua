-- select_nodes: find the least loaded nodes that may run the plan `task`, and hand out up to `most` chunks to
--   them in the same step, one at a time. What a node gets is what is fairest, perhaps of another plan.
--   Of each pool up to 32 nodes more than chunks are compared; of more, a random sample of that many.
-- keys: none
-- args: fresh_ms, most, task
-- returns: for each chunk: node, id, job, iterations, config_hash, seed_offset, engine, seed
-- touches: none
-- uses: clock, plans, nodes, chunks, choosing, picking
local fresh_ms = tonumber(ARGV[1])
local most = tonumber(ARGV[2])
local plan = plan_of(ARGV[3])
local COMPARED = most + 32
local MOST_SILENT = 2000

local passed = {}
local silent = 0

-- Nodes with room, by id. Silent ones leave the pool, so that they hide no live one at the next look.
local function sample(pools)
  local able, removed = {}, 0
  for _, pool in ipairs(pools) do
    for _, id in ipairs(redis.call('SRANDMEMBER', '{node}:room:' .. pool, COMPARED)) do
      local node = node_of(id)
      if now_ms - node.last_heartbeat > fresh_ms then
        node.silent = true
        list_node(node, false)
        removed = removed + 1
      elseif not passed[id] and room_of(node) > 0 then
        able[id] = node
      end
    end
  end
  silent = silent + removed
  return able, removed
end

local function least_loaded(able)
  local best
  for id, node in pairs(able) do
    if not best or node.backlog < best.backlog or node.backlog == best.backlog and id < best.id then best = node end
  end
  return best
end

local told = {}
local pools = plan and pools_of(plan.lane) or {}
local able, given = {}, 0
while given < most and plan and redis.call('ZSCORE', '{job}:lane:' .. plan.lane, plan.task) do
  local node = least_loaded(able)
  if not node then
    local removed
    able, removed = sample(pools)
    node = least_loaded(able)
    if not node and (removed == 0 or silent > MOST_SILENT) then break end
  end
  if node and hand_out(node, told) then
    given = given + 1
    if room_of(node) == 0 then
      list_node(node, false)
      able[node.id] = nil
    end
  elseif node then
    -- What is left are second copies of what it holds itself.
    passed[node.id] = true
    able[node.id] = nil
  end
end
save_all()
return told
