-- drop_part: open again up to `most` chunks of a node that was outvoted; call until none are left.
-- keys: none
-- args: task, most
-- returns: how many are left of the plan to be opened again
-- touches: none
-- uses: clock, plans, nodes, chunks
local task, most = ARGV[1], tonumber(ARGV[2])
local RECOMPUTED = 500

local plan = plan_of(task)
local node = plan and redis.call('SRANDMEMBER', plan.key .. ':dropping')
if not node then
  redis.call('SREM', '{job}:dropping', task)
  return 0
end
local of = plan.key .. ':of:' .. node
for _, index in ipairs(redis.call('SPOP', of, most)) do
  redis.call('SETBIT', plan.done, index, 0)
  redis.call('HDEL', plan.results, index)
  -- Higher than any attempt of it before.
  redis.call('ZADD', plan.retry, RECOMPUTED, index)
  set_plan(plan, 'completed', plan.completed - 1)
end
if redis.call('EXISTS', of) == 0 then
  redis.call('SREM', plan.key .. ':dropping', node)
  redis.call('SREM', plan.key .. ':nodes', node)
end
if not plan.poisoned then list_plan(plan) end
local left = redis.call('EXISTS', plan.key .. ':dropping')
if left == 0 then redis.call('SREM', '{job}:dropping', task) end
save_all()
return left
