-- raw_writes: the writes that accepting a result and handing out the next chunk needs, and nothing else: nothing is
--   read, judged or chosen. As many words come in and go out as with complete_chunk.
-- keys: none
-- args: task, base, items...
-- returns: as many words as complete_chunk
-- touches: none
local key = '{job}:' .. ARGV[1]
local base = tonumber(ARGV[2])
local held, done = key .. ':held', key .. ':done'

local answers = {}
for first = 3, #ARGV, 10 do
  local node, index = ARGV[first], ARGV[first + 2]
  local chunks = '{node}:' .. node .. ':chunks'
  local next_index = index + base
  local id = ARGV[1] .. '.' .. next_index .. '.1'
  redis.call('SETBIT', done, index, 1)
  redis.call('HDEL', chunks, ARGV[1] .. '.' .. index .. '.1')
  redis.call('HDEL', held, index)
  redis.call('HSET', held, next_index, '1 1:' .. node)
  redis.call('HSET', chunks, id, '1800000000000 1800000000000 0')
  for _, word in ipairs({'OK', 1, 1, '', 0, 1, node, id, 'job', 10, 'hash', next_index, 'dps@1', '0'}) do
    answers[#answers + 1] = word
  end
end
redis.call('HSET', key, 'cursor', base, 'completed', base, 'count', 1.5, 'mean', 1.5, 'mean_lost', 1.5, 'm2', 1.5,
  'm2_lost', 1.5, 'least', 1.5, 'most', 1.5)
return answers
