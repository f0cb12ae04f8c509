-- drop_plan: remove the plan and everything of it, if `token` opened it ('' for whatever). It is closed at once;
--   of what nodes hold, `most` chunks go per call, so that a large plan stops nobody: call until 0 are left.
-- keys: none
-- args: task, token, most
-- returns: {how many are left, for each chunk that went: node, id}
-- touches: none
-- uses: clock, plans, nodes, chunks
local task, token, most = ARGV[1], ARGV[2], tonumber(ARGV[3])

local plan = plan_of(task)
if not plan or (token ~= '' and redis.call('HGET', plan.key, 'token') ~= token) then return {0} end
if plan.poisoned ~= 'dropped' then
  set_plan(plan, 'poisoned', 'dropped')
  unlist_plan(plan)
end

local freed = {}
local held = redis.call('HRANDFIELD', plan.held, most, 'WITHVALUES')
for position = 1, #held, 2 do
  for attempt, holder in holders_of(held[position + 1]) do
    freed[#freed + 1] = holder
    freed[#freed + 1] = let_go(plan, held[position], attempt, holder)
  end
  redis.call('HDEL', plan.held, held[position])
end
local left = redis.call('HLEN', plan.held)
save_all()
if left == 0 then
  redis.call('UNLINK', plan.key, plan.done, plan.retry, plan.spare, plan.held, plan.failures, plan.results)
  for _, node in ipairs(plan.sample and redis.call('SMEMBERS', plan.key .. ':nodes') or {}) do
    redis.call('UNLINK', plan.key .. ':by:' .. node, plan.key .. ':of:' .. node)
  end
  redis.call('UNLINK', plan.key .. ':votes', plan.key .. ':nodes', plan.key .. ':wrong', plan.key .. ':dropping')
  redis.call('SREM', '{job}:dropping', task)
  redis.call('ZREM', '{job}:plans', task)
  redis.call('SREM', '{job}:settled', task)
  redis.call('SREM', '{job}:recheck', task)
  local mine = '{job}:owner:' .. plan.owner
  if redis.call('SREM', mine .. ':plans', task) == 1 and redis.call('EXISTS', mine .. ':plans') == 0 then
    redis.call('DEL', mine .. ':guilds')
  end
end
table.insert(freed, 1, left)
return freed
