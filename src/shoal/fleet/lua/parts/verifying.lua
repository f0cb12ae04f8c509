-- verifying: of a plan with a sample, some chunks need results of nodes of two owners that agree. The results of such
--   a plan are kept apart by node, so that a node that was outvoted loses all it did for it.
--   {job}:<task>:votes         index → '<owner> <node> <five words>;…', of chunks that are not decided
--   {job}:<task>:nodes         the nodes with a part; {job}:<task>:by:<node> its sums, …:of:<node> its chunks
--   {job}:<task>:wrong         nodes that were outvoted: they get nothing more of the plan
--   {job}:<task>:dropping      those of them whose chunks are not all open again; {job}:dropping: such plans
local MOST_VOTES = 5
local ONE_IN = 4294967296

-- Nobody who does not know the claim token can tell which chunks these are.
local function is_sampled(plan, index)
  return tonumber(redis.sha1hex(plan.token .. ' ' .. index):sub(1, 8), 16) / ONE_IN < plan.sample
end

local function part_of(plan, node_id)
  local key = plan.key .. ':by:' .. node_id
  plans[key] = plans[key] or {key = key, changed = {}}
  return plans[key]
end

-- The accepted result of a chunk becomes a part of what this node did.
local function credit(plan, index, vote)
  redis.call('SADD', plan.key .. ':nodes', vote.node)
  redis.call('SADD', plan.key .. ':of:' .. vote.node, index)
  if plan.reducer == 'collect' then
    redis.call('HSET', plan.results, index, vote[1])
  else
    fold_moments(part_of(plan, vote.node), unpack(vote))
  end
end

local function agree(plan, one, other)
  if plan.reducer == 'collect' then return one[1]:match('[^-]*$') == other[1]:match('[^-]*$') end
  for place = 1, 5 do
    local apart = math.abs(one[place] - other[place])
    if apart > plan.tolerance * math.max(math.abs(one[place]), math.abs(other[place])) then return false end
  end
  return true
end

-- Those of nodes that were outvoted since do not count.
local function votes_of(plan, index)
  local votes = {}
  for text in (redis.call('HGET', plan.key .. ':votes', index) or ''):gmatch('[^;]+') do
    local words = {}
    for word in text:gmatch('%S+') do
      words[#words + 1] = word
    end
    if redis.call('SISMEMBER', plan.key .. ':wrong', words[2]) == 0 then
      local vote = {owner = words[1], node = words[2], text = text}
      for place = 3, #words do
        vote[#vote + 1] = plan.reducer == 'collect' and words[place] or tonumber(words[place])
      end
      votes[#votes + 1] = vote
    end
  end
  return votes
end

-- The vote that two owners agree on, and those against it; nil while there is none.
local function decide(plan, index, mine)
  local votes = votes_of(plan, index)
  local chosen
  for _, vote in ipairs(votes) do
    if not chosen and vote.owner ~= mine.owner and agree(plan, vote, mine) then chosen = vote end
  end
  if chosen then
    local against = {}
    for _, vote in ipairs(votes) do
      if not agree(plan, vote, chosen) then against[#against + 1] = vote.node end
    end
    return chosen, against
  end
  local texts = {mine.text}
  for position, vote in ipairs(votes) do
    -- A second node of one owner adds nothing.
    if vote.owner == mine.owner then return nil end
    texts[position + 1] = vote.text
  end
  redis.call('HSET', plan.key .. ':votes', index, table.concat(texts, ';'))
  if #texts >= MOST_VOTES then
    set_plan(plan, 'poisoned', index)
    set_plan(plan, 'reason', 'Nodes of different owners do not agree on its result.')
    settle_plan(plan)
  end
end

-- All that the node did for the plan is to be done again, and what it holds of it goes to others.
local function outvote(plan, node_id, freed)
  redis.call('SADD', plan.key .. ':wrong', node_id)
  redis.call('DEL', plan.key .. ':by:' .. node_id)
  plans[plan.key .. ':by:' .. node_id] = nil
  if redis.call('EXISTS', plan.key .. ':of:' .. node_id) == 1 then
    redis.call('SADD', plan.key .. ':dropping', node_id)
    redis.call('SADD', '{job}:dropping', plan.task)
  end
  local node = node_of(node_id)
  for _, id in ipairs(node and redis.call('HKEYS', node.chunks) or {}) do
    local task, index, attempt = id:match('^(.*)%.(%d+)%.(%d+)$')
    if task == plan.task then
      take_back(plan, index, attempt, node_id, false)
      freed[#freed + 1] = node_id
      freed[#freed + 1] = id
    end
  end
end
