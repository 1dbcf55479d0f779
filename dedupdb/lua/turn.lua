-- Gives the next place in a host's line, in one step for the whole fleet. Answers how many milliseconds to wait for it;
-- when that is longer than allowed, the answer is the same and no place is taken.
-- KEYS: when the host may be asked next, in milliseconds. ARGV: pause behind this request, longest wait, the same way.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local wait = math.max(0, tonumber(redis.call('GET', KEYS[1]) or 0) - now)
if wait <= tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], now + wait + ARGV[1], 'PX', wait + ARGV[1])
end
return wait
