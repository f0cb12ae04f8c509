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
-- uses: clock, plans, nodes, chunks, picking, folding
local fresh_ms = tonumber(ARGV[1])
local WORDS = 10

-- What the plan's reducer takes, or nil when the words are something else.
local function result_at(first, plan, index)
  if plan.reducer == 'collect' then
    return ARGV[first] ~= '' and ARGV[first + 1] == '' and {ARGV[first]} or nil
  end
  local found = {}
  for position = first, first + 4 do
    found[#found + 1] = number_of(ARGV[position])
  end
  local iterations = math.min(plan.size, plan.iterations - index * plan.size)
  return #found == 5 and found[1] == iterations and found or nil
end

local function accept(plan, index, entry, result, freed)
  if plan.reducer == 'collect' then
    redis.call('HSET', plan.results, index, result[1])
  end
  redis.call('SETBIT', plan.done, index, 1)
  -- From here to the end of the call nothing can fail that decides about counting.
  set_plan(plan, 'completed', plan.completed + 1)
  if plan.reducer == 'moments' then
    fold_moments(plan, unpack(result))
  end
  for attempt, holder in holders_of(entry) do
    freed[#freed + 1] = holder
    freed[#freed + 1] = let_go(plan, index, attempt, holder)
  end
  redis.call('HDEL', plan.held, index)
  if plan.failing == nil then plan.failing = redis.call('EXISTS', plan.failures) == 1 end
  if plan.failing then redis.call('HDEL', plan.failures, index) end
  if plan.cursor >= plan.total then
    redis.call('ZREM', plan.spare, index)
    if plan.completed == plan.total then
      settle_plan(plan)
    elseif not has_work(plan) then
      unlist_plan(plan)
    end
  end
end

local function judge(node, task, index, attempt, first, freed)
  local plan = plan_of(task)
  if not node then return 'UNKNOWN_NODE' end
  if not plan or plan.poisoned or not index:find('^%d+$') then return 'NOT_FOUND' end
  local entry = redis.call('HGET', plan.held, index)
  if entry and (entry .. ' '):find(' ' .. attempt .. ':' .. node.id .. ' ', 1, true) then
    local result = result_at(first, plan, index)
    if not result then return 'INVALID', plan end
    accept(plan, index, entry, result, freed)
    if node.rests then redis.call('HDEL', node.state, 'rests') end
    node.rests = nil
    return 'OK', plan
  end
  index = tonumber(index)
  if index >= plan.total then return 'NOT_FOUND' end
  return redis.call('GETBIT', plan.done, index) == 1 and 'ALREADY_COMPLETED' or 'WRONG_NODE', plan
end

local answers = {}
local function say(words)
  for _, word in ipairs(words) do
    answers[#answers + 1] = word
  end
end

local function complete_one(first)
  local node = node_of(ARGV[first])
  local freed, told = {}, {}
  local verdict, plan = judge(node, ARGV[first + 1], ARGV[first + 2], ARGV[first + 3], first + 5, freed)
  local given = 0
  if node and now_ms - node.last_heartbeat <= fresh_ms then
    given = fill(node, tonumber(ARGV[first + 4]) or 0, told)
  end
  local full = verdict == 'OK' and plan.completed == plan.total
  say({verdict, plan and plan.completed or 0, plan and plan.total or 0, full and 'AGGREGATE' or '', #freed / 2})
  say(freed)
  say({given})
  say(told)
end

-- What was accepted before something breaks stays counted: bits and sums are saved together.
local ran, problem = pcall(function()
  for first = 2, #ARGV, WORDS do
    complete_one(first)
  end
end)
save_all()
return ran and answers or redis.error_reply('ERR complete_chunk: ' .. tostring(problem))
