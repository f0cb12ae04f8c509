-- held_chunks: everything the node is supposed to hold.
-- keys: none
-- args: node
-- returns: for each chunk: node, id, job, iterations, config_hash, seed_offset, engine, seed
-- touches: none
-- uses: plans
local id = ARGV[1]

local told = {}
for _, chunk in ipairs(redis.call('HKEYS', '{node}:' .. id .. ':chunks')) do
  local task, index = chunk:match('^(.*)%.(%d+)%.%d+$')
  local plan = plan_of(task)
  if plan then
    local offset = index * plan.size
    local words = {id, chunk, plan.job, math.min(plan.size, plan.iterations - offset), plan.config_hash, offset,
      plan.engine, plan.seed}
    for _, word in ipairs(words) do
      told[#told + 1] = word
    end
  end
end
return told
