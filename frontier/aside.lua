-- What operators do to a host. ARGV: host, 'block' with ms from now, 'aside' with a reason, or 'wake'.
-- Answers 1 when that changed something.

if not known() then return 'gone' end
local host, what = ARGV[1], ARGV[2]
local name = HOSTS .. host

if what == 'block' then
  redis.call('HSET', name, 'b', NOW + tonumber(ARGV[3]))
  redis.call('PEXPIREAT', name, due(host) + DAY_MS)
  look_when_due(host)
  return 1
end
if what == 'aside' then return set_aside(host, ARGV[3]) end

local blocked = redis.call('HDEL', name, 'b', 'f')
if not is_aside(host) then
  look_when_due(host)
  return blocked > 0 and 1 or 0
end
redis.call('HDEL', key('aside'), host)
local waiting = redis.call('ZCARD', key('q:' .. host))
if waiting > 0 then
  count('queued', waiting)
  count('excluded', -waiting)
  redis.call('ZADD', key('ready'), math.max(due(host), NOW), host)
end
return 1
