-- accepting: a result is counted, or kept until another owner's agrees, and whoever held the chunk is free.
-- A result of a plan with a sample: counted, or kept as a vote until another owner's agrees.
local function accept_vote(node, plan, index, result, text)
  local mine = result
  mine.owner, mine.node = redis.call('HGET', node.state, 'owner'), node.id
  mine.text = mine.owner .. ' ' .. mine.node .. ' ' .. text
  local chosen, against = mine, {}
  if is_sampled(plan, index) then chosen, against = decide(plan, index, mine) end
  if chosen then
    credit(plan, index, chosen)
    redis.call('HDEL', plan.key .. ':votes', index)
    return against
  end
  local entry = redis.call('HGET', plan.held, index)
  local others = ''
  for attempt, holder in holders_of(entry) do
    if holder ~= node.id then others = others .. ' ' .. attempt .. ':' .. holder end
  end
  redis.call('HSET', plan.held, index, entry:match('^%d+') .. others)
  if others == '' and not plan.poisoned then
    redis.call('ZADD', plan.spare, entry:match('^%d+'), index)
    list_plan(plan)
  end
end

-- The node handed in the result of a chunk that it held until now. Who else held it, if anybody did.
local function accept(node, plan, index, result, text)
  local freed, against
  node.backlog = node.backlog - 1
  running[plan.owner] = running_of(plan.owner) - 1
  if node.rests then redis.call('HDEL', node.state, 'rests') end
  node.rests = nil
  if plan.sample then
    freed = {}
    against = accept_vote(node, plan, index, result, text)
    if not against then return freed end
  end
  redis.call('SETBIT', plan.done, index, '1')
  -- From here to the end of the call nothing can fail that decides about counting.
  set_plan(plan, 'completed', plan.completed + 1)
  if plan.reducer == 'moments' and not plan.sample then
    fold_moments(plan, result[1], result[2], result[3], result[4], result[5])
  end
  if plan.copied or plan.sample then
    freed = freed or {}
    for attempt, holder in holders_of(redis.call('HGET', plan.held, index)) do
      if holder ~= node.id then
        freed[#freed + 1] = holder
        freed[#freed + 1] = let_go(plan, index, attempt, holder)
      end
    end
  end
  redis.call('HDEL', plan.held, index)
  if plan.failing == nil then plan.failing = redis.call('EXISTS', plan.failures) == 1 end
  if plan.failing then redis.call('HDEL', plan.failures, index) end
  if plan.sample or plan.cursor >= plan.total then redis.call('ZREM', plan.spare, index) end
  for _, wrong in ipairs(against or {}) do
    outvote(plan, wrong, freed)
  end
  if plan.cursor >= plan.total then
    if is_full(plan) then
      settle_plan(plan)
    elseif not has_work(plan) then
      unlist_plan(plan)
    end
  end
  return freed
end
