-- Admits a request, or names the limit that refuses it, in one step for the whole fleet. Answers {"ok"};
-- {"reached", n, six counters} when limit n is reached; {"busy", n, six counters} when limit n will be reached if all
-- reservations count. Only limits of URLs have reservations, since the size of a response is not known in advance.
-- KEYS: counters and reservations of the bucket of each limit. ARGV: token, life of a reservation in milliseconds, then
-- counter, limit, and 1 (with reservation) or 0 for each limit.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function refusal(what, place)
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
    return refusal('reached', place)
  end
end
for place = 1, limits do
  if ARGV[3 * place + 2] == '1' then
    redis.call('ZREMRANGEBYSCORE', KEYS[2 * place], '-inf', now)
    local own = redis.call('ZSCORE', KEYS[2 * place], ARGV[1]) and 1 or 0
    if redis.call('ZCARD', KEYS[2 * place]) - own >= left[place] then
      return refusal('busy', place)
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
