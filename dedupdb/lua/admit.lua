-- Lets a request in, or says why not, in one step for the whole fleet. Answers {"ok"}; {"reached", n, six counters}
-- when limit n is reached already; {"busy", n, six counters} when it would be should all that is under way count.
-- Only limits of URLs are reserved for: how many bytes a response will have nobody knows before it came.
-- KEYS: counters and reservations of each limit's bucket. ARGV: token, a reservation's life in milliseconds, then
-- counter, limit and 1 (to be reserved for) or 0 of each.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function told(what, place)
  local counted = redis.call('HMGET', KEYS[2 * place - 1], 'total/urls', 'total/wire_bytes', 'new/urls',
    'new/wire_bytes', 'revisit/urls', 'revisit/wire_bytes')
  return { what, place, unpack(counted) }
end
local limits = (#ARGV - 2) / 3
local left = {}
for place = 1, limits do
  local counted = tonumber(redis.call('HGET', KEYS[2 * place - 1], ARGV[3 * place]) or 0)
  left[place] = tonumber(ARGV[3 * place + 1]) - counted
  if left[place] <= 0 then
    return told('reached', place)
  end
end
for place = 1, limits do
  if ARGV[3 * place + 2] == '1' then
    redis.call('ZREMRANGEBYSCORE', KEYS[2 * place], '-inf', now)
    local own = redis.call('ZSCORE', KEYS[2 * place], ARGV[1]) and 1 or 0
    if redis.call('ZCARD', KEYS[2 * place]) - own >= left[place] then
      return told('busy', place)
    end
  end
end
for place = 1, limits do
  if ARGV[3 * place + 2] == '1' then
    redis.call('ZADD', KEYS[2 * place], now + ARGV[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[2 * place], ARGV[2] * 2)
  end
end
return { 'ok' }
