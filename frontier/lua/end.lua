-- End queued URLs without a visit. ARGV: ending (done, failed or excluded), code, then ids. A URL that is leased or has
-- ended stays as it is. A URL in a segment ends when the segment is read back. Returns the number of URLs that end.

if not known(own) then return 'gone' end
local ending, code, ended = ARGV[1], ARGV[2], 0
for at = 3, #ARGV do
  local id = ARGV[at]
  local record, _, host = read_url(own, id)
  local rested = record and call('ZREM', own.retry, id) == 1
  local waited = record and not rested and call('ZREM', queue_of(own, host), id) == 1
  if rested or waited then
    -- The waiting URLs of a host that was set aside are among the excluded ones already.
    count(own, waited and is_aside(own, host) and 'excluded' or 'queued', -1)
    end_queued(own, id, record, ending, code)
    if waited and call('EXISTS', queue_of(own, host)) == 0 then
      call('ZREM', own.ready, host)
      call('SREM', own.beyond, host)
    end
    ended = ended + 1
  elseif not record and call('HEXISTS', own.ended, id) == 0 then
    ended = ended + mark_unspilled(own, id, ending .. '\n' .. code)
  end
end
return ended
