-- fail_chunk: the node could not compute the chunk; it is tried again elsewhere, and `reason` is what its job says
--   when it failed too often. A node of somebody else rests after that, longer each time in a row, so that one
--   that means harm does not fail a job alone; the owner's own gets up to `wanted` further chunks.
-- keys: none
-- args: fresh_ms, node, task, index, attempt, reason, wanted
-- returns: {verdict, for each further chunk the words of assign_chunk}; the verdict is OK, WRONG_NODE, NOT_FOUND or
--   UNKNOWN_NODE
-- touches: none
-- uses: clock, plans, nodes, chunks, choosing, picking
local fresh_ms = tonumber(ARGV[1])
local node, plan = node_of(ARGV[2]), plan_of(ARGV[3])
local index, attempt, reason, wanted = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local FIRST_REST_MS, LONGEST_REST_MS = 1000, 300000

if not node then return {'UNKNOWN_NODE'} end
if not plan then return {'NOT_FOUND'} end
local entry = redis.call('HGET', plan.held, index)
if not entry or not (entry .. ' '):find(' ' .. attempt .. ':' .. node.id .. ' ', 1, true) then return {'WRONG_NODE'} end

set_plan(plan, 'reason', reason)
take_back(plan, index, attempt, node.id, true)
local told = {'OK'}
if redis.call('HGET', node.state, 'owner') == plan.owner then
  if now_ms - node.last_heartbeat <= fresh_ms then fill(node, wanted, told) end
else
  local failed = tonumber(node.rests and node.rests:match('^%d+') or 0)
  local rest_ms = math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ^ math.min(failed, 20))
  node.rests = string.format('%d %.0f', failed + 1, now_ms + rest_ms)
  redis.call('HSET', node.state, 'rests', node.rests)
end
save_all()
return told
