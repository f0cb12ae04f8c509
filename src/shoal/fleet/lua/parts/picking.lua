-- picking: the next chunk of that plan. One to be tried again comes before a new one, and a second copy last.
local MOST_SPARES = 128

-- Whether a result of the node's owner is there of a chunk that needs those of two.
local function has_voted(plan, node, index)
  if not plan.sample then return false end
  node.owner = node.owner or redis.call('HGET', node.state, 'owner')
  local votes = redis.call('HGET', plan.key .. ':votes', index)
  return votes and (';' .. votes):find(';' .. node.owner .. ' ', 1, true) ~= nil
end

-- A held chunk that this node may try as well: index, attempts so far, who else holds it.
local function spare_for(plan, node)
  for _, index in ipairs(redis.call('ZRANGE', plan.spare, 0, MOST_SPARES - 1)) do
    local entry = redis.call('HGET', plan.held, index)
    if not (entry .. ' '):find(':' .. node.id .. ' ', 1, true) and not has_voted(plan, node, index) then
      redis.call('ZREM', plan.spare, index)
      return index, tonumber(entry:match('^%d+')), entry:match(' .*$') or ''
    end
  end
end

local function take_index(plan, node)
  if plan.sample then
    if redis.call('SISMEMBER', plan.key .. ':wrong', node.id) == 1 then return nil end
    if redis.call('ZCARD', plan.spare) >= MOST_SPARES / 2 then
      local index, attempts, others = spare_for(plan, node)
      if index then return index, attempts, others end
    end
  end
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
    return tostring(plan.cursor - 1), 0, ''
  end
  return spare_for(plan, node)
end

local function has_work(plan)
  return plan.cursor < plan.total or redis.call('EXISTS', plan.retry, plan.spare) > 0
end

-- Adds to `told`: node, id, job, iterations, config_hash, seed_offset, engine, seed. False when there is nothing.
local function hand_out(node, told)
  local passed
  local head = fairest(node)
  while head do
    local plan = plan_of(head.task)
    local index, attempts, others = take_index(plan, node)
    if index then
      if others ~= '' then set_plan(plan, 'copied', '1') end
      local offset, last = index * plan.size, #told
      told[last + 1] = node.id
      told[last + 2] = hold(plan, index, attempts, others, node)
      told[last + 3] = plan.job
      told[last + 4] = math.min(plan.size, plan.iterations - offset)
      told[last + 5] = plan.config_hash
      told[last + 6] = offset
      told[last + 7] = plan.engine
      told[last + 8] = plan.seed
      if not has_work(plan) then unlist_plan(plan) end
      return true
    end
    -- What is left of this plan are second copies of what the node holds itself.
    passed = passed or {}
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
