-- End queued URLs without a visit. ARGV: ending (done, failed or excluded), code, then ids. A URL that is leased or has
-- ended stays as it is. Returns the number of URLs that ended now.

if not known() then return 'gone' end
local ending, code, ended = ARGV[1], ARGV[2], 0
for at = 3, #ARGV do
  local id = ARGV[at]
  local record, _, host = read_url(id)
  local rested = record and call('ZREM', key('retry'), id) == 1
  local waited = record and not rested and call('ZREM', key('q:' .. host), id) == 1
  if rested or waited then
    -- The waiting URLs of a host that was set aside are among the excluded ones already.
    count(waited and is_aside(host) and 'excluded' or 'queued', -1)
    if not is_renders() and call('HEXISTS', key('seeds'), id) == 1 then
      local url = string.match(call('HGET', key('seeds'), id), '^[^\n]*\n[^\n]*\n[^\n]*\n(.*)$') or ''
      call('HSET', key('seeds'), id, ending .. '\n' .. code .. '\n\n' .. url)
    end
    conclude(id, record, ending, code)
    if waited and call('EXISTS', key('q:' .. host)) == 0 then
      call('ZREM', key('ready'), host)
      call('SREM', key('beyond'), host)
    end
    ended = ended + 1
  end
end
return ended
