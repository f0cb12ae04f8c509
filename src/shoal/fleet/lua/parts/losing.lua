-- losing: a node loses what it holds, one chunk or all of them.
local function parts_of(id)
  return id:match('^(.*)%.(%d+)%.(%d+)$')
end

-- A chunk whose plan is gone belongs to nobody any more.
local function lose(node, id, failed)
  local task, index, attempt = parts_of(id)
  local plan = plan_of(task)
  if plan then
    take_back(plan, index, attempt, node.id, failed)
  elseif redis.call('HDEL', node.chunks, id) == 1 then
    node.backlog = node.backlog - 1
  end
end

local function may_serve(node, plan)
  local accepted = ' ' .. node.pools .. ' '
  for _, pool in ipairs(pools_of(plan.lane)) do
    if accepted:find(' ' .. pool .. ' ', 1, true) then return true end
  end
  return false
end

local function forget_node(node, failed)
  local held = redis.call('HKEYS', node.chunks)
  for _, id in ipairs(held) do
    lose(node, id, failed)
  end
  list_node(node, false)
  redis.call('DEL', node.state, node.chunks)
  redis.call('ZREM', '{node}:backlog:sorted', node.id)
  redis.call('ZREM', '{node}:alive', node.id)
  nodes[node.id] = false
  return #held
end
