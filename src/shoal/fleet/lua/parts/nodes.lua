-- nodes: what this call knows of each node, and the pools in which nodes with room wait.
--   {node}:<id>:state          who it is, what it may do, when it was heard last. `most` follows from its limit,
--                              depth and pause; `backlog` is the length of its chunks, kept so that one read
--                              says all; `rests` is there after failures: '<how many in a row> <until>'
--   {node}:<id>:chunks         '<task>.<index>.<attempt>' → '<assigned_ms> <moved_ms> <progress>'
--   {node}:backlog:sorted      every live node, by how many chunks it holds
--   {node}:alive               every live node, by when it was heard last
--   {node}:room:<pool>         nodes that could hold more; a pool is '<grant>|<engine>'
--   {node}:revoked             those that may never come back
--   {node}:watch               since when, and when last, somebody looked for silent nodes
local nodes = {}
local pool_lists = {}

local function node_of(id)
  local node = nodes[id]
  if node == nil then
    local state = '{node}:' .. id .. ':state'
    local stored = redis.call('HMGET', state, 'pools', 'most', 'backlog', 'last_heartbeat', 'listed', 'rests')
    node = stored[1] and {
      id = id, state = state, chunks = '{node}:' .. id .. ':chunks', pools = stored[1],
      most = tonumber(stored[2]), backlog = tonumber(stored[3]), backlog_before = tonumber(stored[3]),
      last_heartbeat = tonumber(stored[4]), listed = stored[5] == '1', rests = stored[6],
    } or false
    nodes[id] = node
  end
  return node
end

local function pools_of_node(node)
  local list = pool_lists[node.pools]
  if not list then
    list = {}
    for pool in node.pools:gmatch('%S+') do
      list[#list + 1] = pool
    end
    pool_lists[node.pools] = list
  end
  return list
end

local function room_of(node)
  if node.rests and now_ms < tonumber(node.rests:match('%d+$')) then return 0 end
  return math.max(0, node.most - node.backlog)
end

-- After its limit, depth or pause changed.
local function weigh_node(node)
  local stored = redis.call('HMGET', node.state, 'limit', 'depth', 'paused')
  local most = stored[3] == '1' and 0 or math.min(tonumber(stored[1]), tonumber(stored[2]))
  if most ~= node.most then redis.call('HSET', node.state, 'most', most) end
  node.most = most
end

local function list_node(node, listed)
  if node.listed ~= listed then
    for _, pool in ipairs(pools_of_node(node)) do
      redis.call(listed and 'SADD' or 'SREM', '{node}:room:' .. pool, node.id)
    end
    redis.call('HSET', node.state, 'listed', listed and '1' or '0')
    node.listed = listed
  end
end

-- Silent nodes leave the pools when they are met; their next heartbeat brings them back.
local function save_nodes()
  for _, node in pairs(nodes) do
    if node then
      if node.backlog ~= node.backlog_before then
        redis.call('HSET', node.state, 'backlog', node.backlog)
        redis.call('ZADD', '{node}:backlog:sorted', node.backlog, node.id)
      end
      list_node(node, not node.silent and room_of(node) > 0)
    end
  end
end
