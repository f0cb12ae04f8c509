-- spare_chunks: at the end of a plan, let one more node try what one node holds for longer than `older_ms`.
--   Does nothing while there are other chunks to hand out or more than `most` are held.
-- keys: none
-- args: task, most, older_ms
-- returns: how many chunks may be tried by one more node now
-- touches: none
-- uses: clock, plans
local most, older_ms = tonumber(ARGV[2]), tonumber(ARGV[3])

local plan = plan_of(ARGV[1])
if not plan or plan.poisoned or plan.cursor < plan.total or redis.call('EXISTS', plan.retry) == 1
  or redis.call('HLEN', plan.held) > most then
  return 0
end
local entries = redis.call('HGETALL', plan.held)
for position = 1, #entries, 2 do
  local attempts, attempt, holder = entries[position + 1]:match('^(%d+) (%d+):(%S+)$')
  if attempts then
    local id = plan.task .. '.' .. entries[position] .. '.' .. attempt
    local assigned = redis.call('HGET', '{node}:' .. holder .. ':chunks', id):match('^%S+')
    if now_ms - tonumber(assigned) > older_ms then
      redis.call('ZADD', plan.spare, attempts, entries[position])
    end
  end
end
local spares = redis.call('ZCARD', plan.spare)
if spares > 0 then list_plan(plan) end
return spares
