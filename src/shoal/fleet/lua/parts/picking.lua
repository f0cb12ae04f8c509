-- picking: the next chunk for a node. The owner with the fewest chunks held comes first, and of one owner the
--   older job. Up to LOOKED_AT lanes of a pool are compared exactly, of more a random sample of that many.
local LOOKED_AT = 32

local function lanes_in(pool)
  if not lanes_of_pool[pool] then
    lanes_of_pool[pool] = redis.call('SRANDMEMBER', '{job}:open:' .. pool, LOOKED_AT)
  end
  return lanes_of_pool[pool]
end

-- The plan at `rank` in the lane, the oldest being at 0; false beyond the last.
local function waiting_at(lane, rank)
  local place = lane .. ' ' .. rank
  if heads[place] == nil then
    local found = redis.call('ZRANGE', '{job}:lane:' .. lane, rank, rank, 'WITHSCORES')
    heads[place] = found[1] and {
      lane = lane, owner = lane:match('^[^|]*'), task = found[1], order = tonumber(found[2]),
    } or false
  end
  return heads[place]
end

local function precedes(one, other)
  local mine, theirs = running_of(one.owner), running_of(other.owner)
  if mine ~= theirs then return mine < theirs end
  if one.order ~= other.order then return one.order < other.order end
  return one.task < other.task
end

local function fairest(node, passed)
  local best
  for _, pool in ipairs(pools_of_node(node)) do
    for _, lane in ipairs(lanes_in(pool)) do
      local head = waiting_at(lane, passed[lane] or 0)
      if head and (not best or precedes(head, best)) then best = head end
    end
  end
  return best
end

-- A held chunk that this node may try as well: index, attempts so far, who else holds it.
local function spare_for(plan, node)
  for _, index in ipairs(redis.call('ZRANGE', plan.spare, 0, -1)) do
    local entry = redis.call('HGET', plan.held, index)
    if not (entry .. ' '):find(':' .. node.id .. ' ', 1, true) then
      redis.call('ZREM', plan.spare, index)
      return index, tonumber(entry:match('^%d+')), entry:match(' .*$')
    end
  end
end

local function take_index(plan, node)
  if plan.retries ~= 0 then
    plan.retries = redis.call('ZCARD', plan.retry)
  end
  if plan.retries > 0 then
    local popped = redis.call('ZPOPMIN', plan.retry)
    plan.retries = plan.retries - 1
    return popped[1], tonumber(popped[2]), ''
  end
  if plan.cursor < plan.total then
    set_plan(plan, 'cursor', plan.cursor + 1)
    return plan.cursor - 1, 0, ''
  end
  return spare_for(plan, node)
end

local function has_work(plan)
  return plan.cursor < plan.total or redis.call('EXISTS', plan.retry, plan.spare) > 0
end

-- Adds to `told`: node, id, job, iterations, config_hash, seed_offset, engine, seed. False when there is nothing.
local function hand_out(node, told)
  local passed = {}
  local head = fairest(node, passed)
  while head do
    local plan = plan_of(head.task)
    local index, attempts, others = take_index(plan, node)
    if index then
      local id = hold(plan, index, attempts, others, node)
      local offset = index * plan.size
      for _, word in ipairs({node.id, id, plan.job, math.min(plan.size, plan.iterations - offset),
          plan.config_hash, offset, plan.engine, plan.seed}) do
        told[#told + 1] = word
      end
      if not has_work(plan) then unlist_plan(plan) end
      return true
    end
    -- What is left of this plan are second copies of what the node holds itself.
    passed[head.lane] = (passed[head.lane] or 0) + 1
    head = fairest(node, passed)
  end
  return false
end

-- As many as the node has room for, `most` at most; how many it got.
local function fill(node, most, told)
  local given = 0
  while given < most and room_of(node) > 0 and hand_out(node, told) do
    given = given + 1
  end
  return given
end
