-- open_plan: write the plan of a fleet task, so that its chunks can be handed out; also after everything was lost.
--   `guilds` are those of the owner, for an owner without other plans; change_grants changes them later.
-- keys: none
-- args: task, token, job, owner, engine, audience, config_hash, iterations, size, reducer, order, most_failures,
--   seed, sample, tolerance, guilds...
-- returns: OK, EXISTS (the same claim opened it before), CLOSING (it did, and somebody began to drop it) or
--   OTHER_TOKEN
-- touches: none
-- uses: plans
local task, token, job, owner, engine = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local audience, config_hash, reducer = ARGV[6], ARGV[7], ARGV[10]
local iterations, size, order = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[11]
local most_failures, seed, sample, tolerance = ARGV[12], ARGV[13], ARGV[14], ARGV[15]

local known = redis.call('HMGET', '{job}:' .. task, 'token', 'poisoned')
if known[1] and known[1] ~= token then return 'OTHER_TOKEN' end
if known[1] then return known[2] == 'dropped' and 'CLOSING' or 'EXISTS' end

local mine = '{job}:owner:' .. owner .. ':plans'
if redis.call('EXISTS', mine) == 0 then
  for position = 16, #ARGV do
    redis.call('SADD', '{job}:owner:' .. owner .. ':guilds', ARGV[position])
  end
end
redis.call('HSET', '{job}:' .. task, 'token', token, 'job', job, 'owner', owner, 'engine', engine,
  'lane', owner .. '|' .. engine .. '|' .. audience, 'config_hash', config_hash, 'iterations', iterations,
  'size', size, 'total', math.ceil(iterations / size), 'cursor', 0, 'completed', 0, 'reducer', reducer,
  'order', order, 'most_failures', most_failures, 'seed', seed)
if tonumber(sample) > 0 then redis.call('HSET', '{job}:' .. task, 'sample', sample, 'tolerance', tolerance) end
redis.call('SADD', mine, task)
redis.call('ZADD', '{job}:plans', order, task)
list_plan(plan_of(task))
return 'OK'
