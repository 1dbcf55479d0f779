-- Store a robots.txt. ARGV: its URL, seconds of validity, status, body.
-- Or read it. ARGV: its URL. Returns {ms of validity, status, body}, or nothing when it must be fetched.

if not known(own) then return 'gone' end
local url = ARGV[1]
if ARGV[2] then
  local times = string.format('%.0f:%.0f', NOW, NOW + 1000 * tonumber(ARGV[2]))
  call('HSET', own.robots, url, times .. '\n' .. ARGV[3] .. '\n' .. ARGV[4])
  return 1
end
local kept = call('HGET', own.robots, url) or ''
local since, until_ms, status, body = string.match(kept, '^(%d+):(%d+)\n(-?%d+)\n(.*)$')
-- A time of storage after now shows that the clock was set back. The robots.txt is then fetched again.
if not body or tonumber(until_ms) <= NOW or tonumber(since) > NOW then return nil end
return { tonumber(until_ms) - NOW, tonumber(status), body }
