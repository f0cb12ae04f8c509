-- complete_chunk: accept results, and give each node its next chunks. `items` are 10 words per result: node,
--   task, index, attempt, wanted, then count, mean, m2, least, most (or, for the reducer collect, where the
--   result lies, and four empty words). A result counts when its node holds that attempt and the chunk is
--   not done; a refusal leaves no trace.
-- keys: none
-- args: fresh_ms, items...
-- returns: for each result: verdict, completed, total, AGGREGATE or '', how many others held the chunk, for each
--   of them node and id, how many chunks are next, for each of them the eight words of assign_chunk.
--   The verdict is OK, ALREADY_COMPLETED, WRONG_NODE, NOT_FOUND, UNKNOWN_NODE or INVALID
-- touches: none
-- uses: clock, plans, nodes, chunks, choosing, picking, folding, verifying, accepting
local fresh_ms = tonumber(ARGV[1])
local WORDS = 10

-- What the plan's reducer takes, or nil when the words are something else.
local function result_at(first, plan, index)
  if plan.reducer == 'collect' then
    return ARGV[first] ~= '' and ARGV[first + 1] == '' and {ARGV[first]} or nil
  end
  local count, mean, m2 = number_of(ARGV[first]), number_of(ARGV[first + 1]), number_of(ARGV[first + 2])
  local least, most = number_of(ARGV[first + 3]), number_of(ARGV[first + 4])
  if count and mean and m2 and least and most and count == math.min(plan.size, plan.iterations - index * plan.size) then
    return {count, mean, m2, least, most}
  end
end

-- Whether the node holds this attempt, and does not any more.
local function take_from(node, plan, id, result)
  if plan.reducer == 'collect' and not plan.sample then
    -- Where it lies comes first: when that cannot be kept, nothing has changed.
    if redis.call('HEXISTS', node.chunks, id) == 0 then return false end
    redis.call('HSET', plan.results, id:match('(%d+)%.%d+$'), result[1])
  end
  return redis.call('HDEL', node.chunks, id) == 1
end

local answers = {}
local function say(word)
  answers[#answers + 1] = word
end

-- The verdict, the plan, and who else held the chunk.
local function judge(node, task, index, attempt, first)
  local plan = plan_of(task)
  if not node then return 'UNKNOWN_NODE' end
  if not plan or plan.poisoned then return 'NOT_FOUND' end
  local id = task .. '.' .. index .. '.' .. attempt
  local result = result_at(first, plan, index)
  if result and take_from(node, plan, id, result) then
    local text = plan.sample and table.concat({unpack(ARGV, first, first + 4)}, ' ')
    return 'OK', plan, accept(node, plan, index, result, text)
  end
  if not result and redis.call('HEXISTS', node.chunks, id) == 1 then return 'INVALID', plan end
  if tonumber(index) >= plan.total then return 'NOT_FOUND' end
  return redis.call('GETBIT', plan.done, index) == 1 and 'ALREADY_COMPLETED' or 'WRONG_NODE', plan
end

local function complete_one(first)
  local node = node_of(ARGV[first])
  local verdict, plan, freed = judge(node, ARGV[first + 1], ARGV[first + 2], ARGV[first + 3], first + 5)
  say(verdict)
  say(plan and plan.completed or 0)
  say(plan and plan.total or 0)
  say(verdict == 'OK' and is_full(plan) and 'AGGREGATE' or '')
  say(freed and #freed / 2 or 0)
  for position = 1, freed and #freed or 0 do say(freed[position]) end
  say(0)
  local given = #answers
  if node and now_ms - node.last_heartbeat <= fresh_ms then
    answers[given] = fill(node, tonumber(ARGV[first + 4]), answers)
  end
end

-- What was accepted before something breaks stays counted: bits and sums are saved together.
local ran, problem = pcall(function()
  for first = 2, #ARGV, WORDS do
    complete_one(first)
  end
end)
save_all()
return ran and answers or redis.error_reply('ERR complete_chunk: ' .. tostring(problem))
