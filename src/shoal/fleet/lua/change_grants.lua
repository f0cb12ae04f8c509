-- change_grants: the owner is in other guilds now. New chunks follow at once; recheck_plan looks at those held, and
--   until it has, the plan stays in {job}:recheck.
-- keys: none
-- args: owner, guilds...
-- returns: the plans whose held chunks must be looked at
-- touches: none
-- uses: plans
local owner = ARGV[1]
local mine = '{job}:owner:' .. owner .. ':plans'
local guilds = '{job}:owner:' .. owner .. ':guilds'

local tasks = redis.call('SMEMBERS', mine)
if #tasks == 0 then return {} end
local waiting = {}
for _, task in ipairs(tasks) do
  local lane = redis.call('HGET', '{job}:' .. task, 'lane')
  if waiting[lane] == nil then waiting[lane] = redis.call('EXISTS', '{job}:lane:' .. lane) == 1 end
  redis.call('SADD', '{job}:recheck', task)
end

local function list_lanes(command)
  for lane, waits in pairs(waiting) do
    for _, pool in ipairs(waits and pools_of(lane) or {}) do
      redis.call(command, '{job}:open:' .. pool, lane)
    end
  end
end

list_lanes('SREM')
redis.call('DEL', guilds)
for position = 2, #ARGV do
  redis.call('SADD', guilds, ARGV[position])
end
list_lanes('SADD')
table.sort(tasks)
return tasks
