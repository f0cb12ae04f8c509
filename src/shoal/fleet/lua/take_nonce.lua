-- take_nonce: let a signed request pass once. What was signed before the brain started, or was emptied, does not
--   pass: the nonces of then may be forgotten. A nonce is kept for `keep_ms`, longer than its timestamp is good for.
-- keys: nonce
-- args: timestamp_ms, keep_ms
-- returns: OK, USED or TOO_OLD
-- touches: nonce
-- uses: clock
local nonce = KEYS[1]
local timestamp_ms, keep_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local MEMORY = '{nonce}:memory'

local about = redis.call('INFO', 'server')
local run = about:match('run_id:(%w+)')
local known = redis.call('HMGET', MEMORY, 'run', 'since')
local since = tonumber(known[2])
if known[1] ~= run then
  -- Whole seconds, rounded down: so the start seems later than it was, never earlier.
  since = known[1] and now_ms - about:match('uptime_in_seconds:(%d+)') * 1000 or now_ms
  redis.call('HSET', MEMORY, 'run', run, 'since', string.format('%.0f', since))
end
if timestamp_ms < since then return 'TOO_OLD' end
return redis.call('SET', nonce, '1', 'NX', 'PX', keep_ms) and 'OK' or 'USED'
