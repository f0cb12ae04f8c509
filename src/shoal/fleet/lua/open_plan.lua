-- open_plan: write the plan of a fleet task, so that its chunks can be handed out; also after everything was lost.
--   `guilds` are those of the owner, for an owner without other plans; change_grants changes them later.
-- keys: none
-- args: task, token, job, owner, engine, audience, config_hash, iterations, size, reducer, order, most_attempts,
--   guilds...
-- returns: OK, EXISTS (the same claim opened it before) or OTHER_TOKEN
-- touches: none
-- uses: plans
local task, token, job, owner, engine = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local audience, config_hash, reducer = ARGV[6], ARGV[7], ARGV[10]
local iterations, size, order, most_attempts = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[11], ARGV[12]

local known = redis.call('HGET', '{job}:' .. task, 'token')
if known then return known == token and 'EXISTS' or 'OTHER_TOKEN' end

local mine = '{job}:owner:' .. owner .. ':plans'
if redis.call('EXISTS', mine) == 0 then
  for position = 13, #ARGV do
    redis.call('SADD', '{job}:owner:' .. owner .. ':guilds', ARGV[position])
  end
end
redis.call('HSET', '{job}:' .. task, 'token', token, 'job', job, 'owner', owner, 'engine', engine,
  'lane', owner .. '|' .. engine .. '|' .. audience, 'config_hash', config_hash, 'iterations', iterations,
  'size', size, 'total', math.ceil(iterations / size), 'cursor', 0, 'completed', 0, 'reducer', reducer,
  'order', order, 'most_attempts', most_attempts)
redis.call('SADD', mine, task)
redis.call('ZADD', '{job}:plans', order, task)
list_plan(plan_of(task))
return 'OK'
