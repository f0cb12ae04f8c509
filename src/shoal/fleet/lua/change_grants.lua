-- change_grants: the owner is in other guilds now. New chunks follow at once; recheck_plan looks at those held.
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
local listed = {}
for _, task in ipairs(tasks) do
  local plan = plan_of(task)
  if redis.call('ZSCORE', '{job}:lane:' .. plan.lane, task) then
    listed[#listed + 1] = plan
    unlist_plan(plan)
  end
  redis.call('SADD', '{job}:recheck', task)
end
redis.call('DEL', guilds)
for position = 2, #ARGV do
  redis.call('SADD', guilds, ARGV[position])
end
for _, plan in ipairs(listed) do
  list_plan(plan)
end
table.sort(tasks)
return tasks
