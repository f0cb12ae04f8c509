-- chunks: who holds what. Every move of a chunk is one of these functions, so nothing is in nobody's list.
--   {job}:running              owner → how many chunks of theirs are held now
local running = {}
local running_before = {}
local JUST_NOW = string.format('%.0f %.0f 0', now_ms, now_ms)

local function running_of(owner)
  if not running[owner] then
    running[owner] = tonumber(redis.call('HGET', '{job}:running', owner) or 0)
    running_before[owner] = running[owner]
  end
  return running[owner]
end

local function save_running()
  for owner, count in pairs(running) do
    if count ~= running_before[owner] then
      if count == 0 then
        redis.call('HDEL', '{job}:running', owner)
      else
        redis.call('HSET', '{job}:running', owner, count)
      end
    end
  end
end

-- `index` is text. `attempts` were made before; `others` hold it as well: '' or ' <attempt>:<node>'.
local function hold(plan, index, attempts, others, node)
  local attempt = attempts == 0 and '1' or tostring(attempts + 1)
  local id = plan.task .. '.' .. index .. '.' .. attempt
  redis.call('HSET', plan.held, index, attempt .. others .. ' ' .. attempt .. ':' .. node.id)
  redis.call('HSET', node.chunks, id, JUST_NOW)
  node.backlog = node.backlog + 1
  running[plan.owner] = running_of(plan.owner) + 1
  return id
end

local function let_go(plan, index, attempt, node_id)
  local node = node_of(node_id)
  local id = plan.task .. '.' .. index .. '.' .. attempt
  if node and redis.call('HDEL', node.chunks, id) == 1 then
    node.backlog = node.backlog - 1
  end
  running[plan.owner] = running_of(plan.owner) - 1
  return id
end

local function holders_of(entry)
  return entry:gmatch(' (%d+):(%S+)')
end

-- The node loses the chunk, because it `failed` with it or by nobody's fault. It is tried again when nobody else
-- holds it, unless it failed too often.
local function take_back(plan, index, attempt, node_id, failed)
  let_go(plan, index, attempt, node_id)
  local failures = failed and redis.call('HINCRBY', plan.failures, index, 1) or 0
  plan.failing = plan.failing or failed
  local entry = redis.call('HGET', plan.held, index)
  local attempts = entry:match('^%d+')
  local others = ''
  for other_attempt, other in holders_of(entry) do
    if other ~= node_id or other_attempt ~= tostring(attempt) then
      others = others .. ' ' .. other_attempt .. ':' .. other
    end
  end
  if others ~= '' then
    redis.call('HSET', plan.held, index, attempts .. others)
    return
  end
  if plan.sample and redis.call('HEXISTS', plan.key .. ':votes', index) == 1 then
    redis.call('HSET', plan.held, index, attempts)
    redis.call('ZADD', plan.spare, attempts, index)
  else
    redis.call('ZADD', plan.retry, attempts, index)
    redis.call('HDEL', plan.held, index)
    redis.call('ZREM', plan.spare, index)
    plan.retries = nil
  end
  if failures >= plan.most_failures and not plan.poisoned then
    set_plan(plan, 'poisoned', index)
    settle_plan(plan)
  elseif not plan.poisoned then
    list_plan(plan)
  end
end

local function save_all()
  save_plans()
  save_nodes()
  save_running()
end
