-- Keep a robots.txt: ARGV: its URL, seconds it is believed, status, body. Or read it: ARGV: its URL; answers
-- {ms it is believed for, status, body}, or nothing when it must be fetched.

if not known() then return 'gone' end
local url = ARGV[1]
if ARGV[2] then
  local until_ms = string.format('%.0f', NOW + 1000 * tonumber(ARGV[2]))
  call('HSET', key('robots'), url, until_ms .. '\n' .. ARGV[3] .. '\n' .. ARGV[4])
  return 1
end
local until_ms, status, body = string.match(call('HGET', key('robots'), url) or '', '^(%d+)\n(-?%d+)\n(.*)$')
if not body or tonumber(until_ms) <= NOW then return nil end
return { tonumber(until_ms) - NOW, tonumber(status), body }
