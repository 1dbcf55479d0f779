-- Takes the next turn at a host, in one step for the whole fleet. Answers the milliseconds until this turn. When they
-- are more than the longest wait, no turn is taken.
-- KEYS: time of the host's next turn. ARGV: pause after this request, longest wait. All in milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local wait = math.max(0, tonumber(redis.call('GET', KEYS[1]) or 0) - now)
if wait <= tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], now + wait + ARGV[1], 'PX', wait + ARGV[1])
end
return wait
