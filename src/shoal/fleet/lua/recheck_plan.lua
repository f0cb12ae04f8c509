-- recheck_plan: take chunks back from nodes that may no longer run them. Looks at a part of what is held; call it
--   with the cursor it answers until that is 0.
-- keys: none
-- args: task, cursor, count
-- returns: {next cursor, for each chunk taken back: node, id}
-- touches: none
-- uses: clock, plans, nodes, chunks, losing
local task, cursor, count = ARGV[1], ARGV[2], ARGV[3]

local plan = plan_of(task)
if not plan then
  redis.call('SREM', '{job}:recheck', task)
  return {0}
end
local page = redis.call('HSCAN', plan.held, cursor, 'COUNT', count)
local answer = {tonumber(page[1])}
for position = 1, #page[2], 2 do
  local index = page[2][position]
  for attempt, holder in holders_of(page[2][position + 1]) do
    if not may_serve(node_of(holder), plan) then
      answer[#answer + 1] = holder
      answer[#answer + 1] = task .. '.' .. index .. '.' .. attempt
      take_back(plan, index, attempt, holder, false)
    end
  end
end
if answer[1] == 0 then redis.call('SREM', '{job}:recheck', task) end
save_all()
return answer
