-- plans: what this call knows of each plan, and the lanes in which plans with work wait.
--   {job}:<task>               the plan: its facts, cursor, completed, the reducer's state, the lock
--   {job}:<task>:done          one bit per chunk
--   {job}:<task>:retry         index → attempts so far, of chunks that are neither done nor held
--   {job}:<task>:spare         index → attempts so far, of held chunks that one more node may try
--   {job}:<task>:held          index → '<attempts> <attempt>:<node> …', everyone who holds it
--   {job}:<task>:failures      index → how often it failed, of chunks that did and are not done
--   {job}:<task>:results       index → where the result lies (reducer collect)
--   {job}:lane:<lane>          plans with work, by order; a lane is '<owner>|<engine>|<audience>'
--   {job}:open:<pool>          lanes with a plan in them; a pool is '<grant>|<engine>'
--   {job}:owner:<owner>:plans, {job}:owner:<owner>:guilds
--   {job}:plans                every plan, by order; {job}:settled: those that are full or poisoned
--   {job}:recheck              plans whose holders may have lost the right to hold
local plans = {}
local lanes_of_pool, lanes_of_pools, heads = {}, {}, {}

local function plan_of(task)
  local plan = plans[task]
  if plan == nil then
    local key = '{job}:' .. task
    local stored = redis.call('HMGET', key, 'total', 'cursor', 'completed', 'size', 'iterations', 'owner',
      'lane', 'job', 'config_hash', 'engine', 'order', 'most_failures', 'poisoned', 'reducer', 'seed', 'copied', 'token', 'sample', 'tolerance')
    plan = stored[1] and {
      task = task, key = key, done = key .. ':done', retry = key .. ':retry', spare = key .. ':spare',
      held = key .. ':held', failures = key .. ':failures', results = key .. ':results',
      total = tonumber(stored[1]), cursor = tonumber(stored[2]), completed = tonumber(stored[3]),
      size = tonumber(stored[4]), iterations = tonumber(stored[5]), owner = stored[6], lane = stored[7],
      job = stored[8], config_hash = stored[9], engine = stored[10], order = tonumber(stored[11]),
      most_failures = tonumber(stored[12]), poisoned = stored[13], reducer = stored[14], seed = stored[15],
      copied = stored[16], token = stored[17], sample = stored[18] and tonumber(stored[18]),
      tolerance = tonumber(stored[19] or 0), changed = {},
    } or false
    plans[task] = plan
  end
  return plan
end

local function set_plan(plan, field, value)
  plan[field] = value
  plan.changed[field] = value
end

-- Grants are read here, from the brain: a caller cannot widen them.
local function pools_of(lane)
  local owner, engine, audience = lane:match('^([^|]*)|([^|]*)|([^|]*)$')
  local pools = {'owner:' .. owner .. '|' .. engine}
  if audience ~= 'own' then
    pools[#pools + 1] = 'user:' .. owner .. '|' .. engine
    for _, guild in ipairs(redis.call('SMEMBERS', '{job}:owner:' .. owner .. ':guilds')) do
      pools[#pools + 1] = 'discord:' .. guild .. '|' .. engine
    end
  end
  if audience == 'public' then
    pools[#pools + 1] = 'public|' .. engine
  end
  return pools
end

local function list_plan(plan)
  local lane = '{job}:lane:' .. plan.lane
  if redis.call('ZADD', lane, plan.order, plan.task) == 1 then
    if redis.call('ZCARD', lane) == 1 then
      for _, pool in ipairs(pools_of(plan.lane)) do
        redis.call('SADD', '{job}:open:' .. pool, plan.lane)
      end
    end
    lanes_of_pool, lanes_of_pools, heads = {}, {}, {}
  end
end

local function unlist_plan(plan)
  local lane = '{job}:lane:' .. plan.lane
  if redis.call('ZREM', lane, plan.task) == 1 then
    if redis.call('EXISTS', lane) == 0 then
      for _, pool in ipairs(pools_of(plan.lane)) do
        redis.call('SREM', '{job}:open:' .. pool, plan.lane)
      end
    end
    lanes_of_pool, lanes_of_pools, heads = {}, {}, {}
  end
end

-- Everything is done, and nothing of it is to be done again.
local function is_full(plan)
  return plan.completed == plan.total
    and not (plan.sample and redis.call('EXISTS', plan.key .. ':dropping') == 1)
end

local function settle_plan(plan)
  redis.call('DEL', plan.spare)
  redis.call('SADD', '{job}:settled', plan.task)
  unlist_plan(plan)
end

local function save_plans()
  for _, plan in pairs(plans) do
    local words = {}
    for field, value in pairs(plan and plan.changed or {}) do
      words[#words + 1] = field
      words[#words + 1] = value
    end
    if #words > 0 then
      redis.call('HSET', plan.key, unpack(words))
    end
  end
end
