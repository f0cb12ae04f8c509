-- clock: the moment of this call, in milliseconds since 1970, by the server's clock.
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
