-- lock_plan: take the right to aggregate a full plan for `ttl_ms`, or take it over when its time is over.
--   Whoever holds it may take it again. The bitmap decides whether the plan is full, not the counter.
-- keys: none
-- args: task, holder, ttl_ms
-- returns: {'OK', token, total, count, mean, m2, least, most}, {'LOCKED'}, {'NOT_FULL'},
--   {'POISONED', index, why it failed last or ''} or {'NOT_FOUND'}; numbers with 17 digits
-- touches: none
-- uses: clock, plans, folding
local holder = ARGV[2]
local ttl_ms = tonumber(ARGV[3])

local plan = plan_of(ARGV[1])
if not plan or plan.poisoned == 'dropped' then return {'NOT_FOUND'} end
if plan.poisoned then return {'POISONED', plan.poisoned, redis.call('HGET', plan.key, 'reason') or ''} end
if redis.call('BITCOUNT', plan.done) < plan.total or not is_full(plan) then return {'NOT_FULL'} end
local stored = redis.call('HMGET', plan.key, 'lock', 'lock_at', 'token')
if stored[1] and stored[1] ~= holder and now_ms < tonumber(stored[2]) + ttl_ms then return {'LOCKED'} end
redis.call('HSET', plan.key, 'lock', holder, 'lock_at', now_ms)

moments_of(plan)
local nodes_with_parts = plan.sample and redis.call('SMEMBERS', plan.key .. ':nodes') or {}
table.sort(nodes_with_parts)
for _, node in ipairs(nodes_with_parts) do
  local part = moments_of({key = plan.key .. ':by:' .. node})
  if part.count > 0 then fold_moments(plan, part.count, part.mean, part.m2, part.least, part.most) end
end
local answer = {'OK', stored[3], plan.total}
for _, field in ipairs({'count', 'mean', 'm2', 'least', 'most'}) do
  answer[#answer + 1] = string.format('%.17g', plan[field])
end
return answer
