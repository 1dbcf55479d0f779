-- Block a host, set it aside, or undo both. ARGV: host, then 'block' and ms from now, 'aside' and a reason, 'wake', or
-- 'back' to undo only that the host was set aside. A block replaces an earlier one. Returns 1 when this changed something.

if not known(own) then return 'gone' end
local host, what = ARGV[1], ARGV[2]
local name = HOSTS .. host

-- Check the host when it is due in all jobs, since they share its block. Those that have asked wait for the earlier end.
local function check_in_all_jobs(due)
  for _, job_name in ipairs(call('SMEMBERS', JOBS)) do
    local job = job_at(SHARD .. job_name)
    for _, each in ipairs({ job, renders_of(job) }) do
      call('ZADD', each.ready, 'XX', 'LT', math.max(due, NOW), host)
    end
  end
end

if what == 'block' then
  call('HSET', name, 'b', NOW + tonumber(ARGV[3]))
  local due = host_state(host)
  call('PEXPIREAT', name, due + 2 * DAY_MS)
  schedule_host(own, host, due)
  check_in_all_jobs(due)
  return 1
end
if what == 'aside' then return set_aside(own, host, ARGV[3]) end

local blocked = what == 'wake' and call('HDEL', name, 'b', 'f') or 0
local due = host_state(host)
if blocked > 0 then check_in_all_jobs(due) end
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
