-- admit_node: write down what a node may do, as the ledger has it. `pools` are '<grant>|<engine>', with a space
--   between. A node that is here itself (`present` 1) becomes a new incarnation when it was forgotten; one that
--   is not stays absent. What it holds and may no longer run is tried again elsewhere.
-- keys: none
-- args: node, present, owner, limit, depth, paused, pools
-- returns: {'OK', epoch, ids it lost...}, {'ABSENT'} or {'REVOKED'}
-- touches: none
-- uses: clock, plans, nodes, chunks, losing
local id = ARGV[1]
local present = ARGV[2] == '1'
local owner, limit, depth, paused, pools = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

if redis.call('SISMEMBER', '{node}:revoked', id) == 1 then return {'REVOKED'} end
local node = node_of(id)
if not node and not present then return {'ABSENT'} end
if not node then
  redis.call('HSET', '{node}:' .. id .. ':state', 'pools', pools, 'most', 0, 'depth', depth, 'backlog', 0,
    'last_heartbeat', now_ms, 'epoch', now_ms)
  redis.call('ZADD', '{node}:backlog:sorted', 0, id)
  nodes[id] = nil
  node = node_of(id)
else
  list_node(node, false)
end
redis.call('HSET', node.state, 'owner', owner, 'limit', limit, 'paused', paused, 'pools', pools)
node.pools = pools
weigh_node(node)
if present then
  redis.call('HSET', node.state, 'last_heartbeat', now_ms)
  redis.call('ZADD', '{node}:alive', now_ms, id)
end

local answer = {'OK', tonumber(redis.call('HGET', node.state, 'epoch'))}
for _, chunk in ipairs(redis.call('HKEYS', node.chunks)) do
  local plan = plan_of(parts_of(chunk))
  if not plan or not may_serve(node, plan) then
    lose(node, chunk, false)
    answer[#answer + 1] = chunk
  end
end
save_all()
return answer
