-- choosing: which plan is next for a node. The owner with the fewest chunks held comes first, and of one owner the
--   older plan. Up to LOOKED_AT lanes of a pool are compared exactly, of more a random sample of that many.
local LOOKED_AT = 32

-- What the node may run, as lanes. Nodes with the same pools share the list.
local function lanes_for(node)
  local lanes = lanes_of_pools[node.pools]
  if not lanes then
    lanes = {}
    local listed = {}
    for _, pool in ipairs(pools_of_node(node)) do
      if not lanes_of_pool[pool] then
        lanes_of_pool[pool] = redis.call('SRANDMEMBER', '{job}:open:' .. pool, LOOKED_AT)
      end
      for _, lane in ipairs(lanes_of_pool[pool]) do
        if not listed[lane] then
          listed[lane] = true
          lanes[#lanes + 1] = lane
        end
      end
    end
    lanes_of_pools[node.pools] = lanes
  end
  return lanes
end

-- The plan at `rank` in the lane, the oldest being at 0; false beyond the last.
local function waiting_at(lane, rank)
  local ranks = heads[lane]
  if not ranks then
    ranks = {}
    heads[lane] = ranks
  end
  if ranks[rank] == nil then
    local found = redis.call('ZRANGE', '{job}:lane:' .. lane, rank, rank, 'WITHSCORES')
    ranks[rank] = found[1] and {
      lane = lane, owner = lane:match('^[^|]*'), task = found[1], order = tonumber(found[2]),
    } or false
  end
  return ranks[rank]
end

local function precedes(one, other)
  local mine, theirs = running_of(one.owner), running_of(other.owner)
  if mine ~= theirs then return mine < theirs end
  if one.order ~= other.order then return one.order < other.order end
  return one.task < other.task
end

local function fairest(node, passed)
  local lanes, best = lanes_for(node), nil
  for position = 1, #lanes do
    local lane = lanes[position]
    local head = waiting_at(lane, passed and passed[lane] or 0)
    if head and (not best or precedes(head, best)) then best = head end
  end
  return best
end
