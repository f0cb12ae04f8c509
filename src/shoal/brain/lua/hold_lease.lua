-- hold_lease: take the lease when it is free or over, extend it when `token` holds it.
--   Every new holding gets a larger epoch. The epoch starts from the server's clock, so it grows
--   even when the server lost its memory. The key has no expiry: the epoch must outlive the lease.
-- keys: lease
-- args: token, ttl_ms
-- returns: {epoch, remaining_ms} when held, {0, remaining_ms} when somebody else holds it
-- touches: lease
local lease = KEYS[1]
local token = ARGV[1]
local ttl_ms = tonumber(ARGV[2])

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local stored = redis.call('HMGET', lease, 'token', 'epoch', 'until_ms')
local epoch = tonumber(stored[2] or 0)
local until_ms = tonumber(stored[3] or 0)

if now_ms < until_ms then
  if stored[1] ~= token then
    return {0, until_ms - now_ms}
  end
else
  epoch = math.max(epoch + 1, now_ms)
end

redis.call('HSET', lease, 'token', token, 'epoch', epoch, 'until_ms', now_ms + ttl_ms)
return {epoch, ttl_ms}
