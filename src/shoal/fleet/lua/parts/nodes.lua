-- nodes: what this call knows of each node, and the pools in which nodes with room wait.
--   {node}:<id>:state          who it is, what it may do, when it was heard last; `rests` is there after failures:
--                              '<how many in a row> <until>'
--   {node}:<id>:chunks         '<task>.<index>.<attempt>' → '<assigned_ms> <moved_ms> <progress>'
--   {node}:backlog:sorted      every live node, by how many chunks it holds
--   {node}:alive               every live node, by when it was heard last
--   {node}:room:<pool>         nodes that could hold more; a pool is '<grant>|<engine>'
--   {node}:revoked             those that may never come back
--   {node}:watch               since when, and when last, somebody looked for silent nodes
local nodes = {}

local function node_of(id)
  local node = nodes[id]
  if node == nil then
    local state = '{node}:' .. id .. ':state'
    local stored = redis.call('HMGET', state, 'pools', 'limit', 'depth', 'paused', 'last_heartbeat', 'listed', 'owner', 'rests')
    node = stored[1] and {
      id = id, state = state, chunks = '{node}:' .. id .. ':chunks', pools = stored[1],
      limit = tonumber(stored[2]), depth = tonumber(stored[3]), paused = stored[4] == '1',
      last_heartbeat = tonumber(stored[5]), listed = stored[6] == '1', owner = stored[7], rests = stored[8],
    } or false
    if node then
      node.backlog = redis.call('HLEN', node.chunks)
      node.backlog_before = node.backlog
    end
    nodes[id] = node
  end
  return node
end

local function pools_of_node(node)
  if not node.pool_list then
    node.pool_list = {}
    for pool in node.pools:gmatch('%S+') do
      node.pool_list[#node.pool_list + 1] = pool
    end
  end
  return node.pool_list
end

local function room_of(node)
  if node.paused or node.rests and now_ms < tonumber(node.rests:match('%d+$')) then return 0 end
  return math.max(0, math.min(node.limit, node.depth) - node.backlog)
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
        redis.call('ZADD', '{node}:backlog:sorted', node.backlog, node.id)
      end
      list_node(node, not node.silent and room_of(node) > 0)
    end
  end
end
