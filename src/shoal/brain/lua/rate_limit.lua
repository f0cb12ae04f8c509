-- rate_limit: let a call pass unless `limit` calls passed within the last `window_ms`.
--   It keeps the moments of the calls that passed, at most `limit` of them, newest first. So the
--   limit holds in every window, wherever it starts: there is no edge where twice as many pass.
--   A refused call leaves no trace, so that a caller that keeps asking is not locked out.
-- keys: accepted
-- args: limit, window_ms
-- returns: 0 when the call may pass, else after how many milliseconds the next one may
-- touches: accepted
local accepted = KEYS[1]
local limit = tonumber(ARGV[1])
local window_ms = tonumber(ARGV[2])

local clock = redis.call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local window_us = window_ms * 1000

local oldest_us = tonumber(redis.call('LINDEX', accepted, limit - 1) or 0)
if now_us < oldest_us + window_us then
  -- After a failover to a server whose clock is behind, the oldest may lie in the future.
  local wait_us = math.min(oldest_us + window_us - now_us, window_us)
  return math.max(1, math.ceil(wait_us / 1000))
end

redis.call('LPUSH', accepted, now_us)
redis.call('LTRIM', accepted, 0, limit - 1)
redis.call('PEXPIRE', accepted, window_ms)
return 0
