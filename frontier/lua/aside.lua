-- Block a host, set it aside, or undo both. ARGV: host, then 'block' and ms from now, 'aside' and a reason, or 'wake'.
-- Returns 1 when this changed something.

if not known(own) then return 'gone' end
local host, what = ARGV[1], ARGV[2]
local name = HOSTS .. host

if what == 'block' then
  local over = NOW + tonumber(ARGV[3])
  call('HSET', name, 'b', over)
  call('PEXPIREAT', name, over + 2 * DAY_MS)
  schedule_host(own, host, over)
  return 1
end
if what == 'aside' then return set_aside(own, host, ARGV[3]) end

-- A visit that ended during the block has put the host's delay behind the end of the block.
local times = call('HMGET', name, 'b', 'd')
if times[1] and tonumber(times[2] or 0) >= tonumber(times[1]) then call('HSET', name, 'd', NOW) end
local blocked = call('HDEL', name, 'b', 'f')
local due = host_state(host)
if not is_aside(own, host) then
  schedule_host(own, host, due)
  return blocked > 0 and 1 or 0
end
call('HDEL', own.aside, host)
local waiting = call('ZCARD', queue_of(own, host))
local spilled = spilled_of(own, host)
count(own, 'queued', waiting + spilled)
count(own, 'excluded', 0 - waiting - spilled)
if waiting > 0 then
  call('ZADD', own.ready, math.max(due, NOW), host)
end
return 1
