-- release_lease: end the lease at once when `token` holds it; the epoch stays.
-- keys: lease
-- args: token
-- returns: 1 when it was held by `token`, else 0
-- touches: lease
local lease = KEYS[1]
local token = ARGV[1]

if redis.call('HGET', lease, 'token') ~= token then
  return 0
end
redis.call('HSET', lease, 'token', '', 'until_ms', 0)
return 1
