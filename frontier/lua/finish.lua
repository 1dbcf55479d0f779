-- End a lease. ARGV: a JSON object with the fields of `EndedVisit` (packing.py). Returns the ending. Returns '' and changes
-- nothing when the lease is over or another's.

local visit = cjson.decode(ARGV[1])
local id, holder, host, fetched = visit.id, visit.token .. '\n' .. visit.worker, visit.host, visit.urls
local ending, code = visit.ending, visit.code

local held = call('HMGET', key('lease'), id, 'f:' .. visit.worker, 'g:' .. id)
if held[1] ~= holder then
  if not known() then return 'gone' end
  -- A repeated call gets the first answer, which may have been lost.
  return held[2] and string.match(held[2], '^' .. visit.token .. '\n(.*)$') or ''
end

local record, tries, _, score = read_url(id)
if not record then -- the record was lost or damaged during the visit
  ending, code = 'failed', '-5'
end
call('HSET', key('lease'), 'f:' .. visit.worker, visit.token .. '\n' .. ending)

local due, visits, failures = host_state(host)
if visit.host_wait_ms > 0 then due = math.max(due, NOW + visit.host_wait_ms) end
failures = visit.host_failed and failures + 1 or ending == 'done' and 0 or failures
call('ZREM', key('leases'), id)
call('HDEL', key('lease'), id)
leave_group(id, held[3])
call('HSET', HOSTS .. host, 'n', math.max(visits - 1, 0), 'd', due, 's', NOW, 'f', failures)
if visit.host_failed then call('HSET', HOSTS .. host, 'e', code) end
if visit.host_wait_ms > DAY_MS then call('PEXPIREAT', HOSTS .. host, due + DAY_MS) end

if visit.bytes > 0 then
  count('bytes', visit.bytes)
  call('HINCRBY', key('hostbytes'), host, visit.bytes)
end

if visit.spender[1] then spend({ visit, ending, tonumber(code) }) end

if is_renders() then
  -- The limits of the job count what renders fetch. The page itself was counted when the plain crawler fetched it.
  local job = job_root()
  if visit.bytes > 0 then
    call('HINCRBY', job .. ':count', 'bytes', visit.bytes)
    call('HINCRBY', job .. ':hostbytes', host, visit.bytes)
  end
  if fetched > 1 then call('HINCRBY', job .. ':count', 'along', fetched - 1) end
  -- As long as the plain crawler has URLs of this host, it gets the host for the time that the render took.
  call('HSET', key('rests'), host, NOW + math.max(visit.host_wait_ms, 0) + visit.duration_ms)
  local urls = {}
  for _, url in ipairs(visit.fetched) do urls[url] = true end
  if ending ~= 'again' then conclude(id, record or '', ending, code, urls) end
elseif ending ~= 'again' then
  conclude(id, record or '', ending, code)
  if ending == 'done' then
    call('HINCRBY', key('pages'), host, visit.is_document and 1 or 0)
    if visit.is_document then count('pages', 1) end
    if fetched > 1 then count('along', fetched - 1) end
  end
end

if ending ~= 'again' and record and visit.revisit ~= '' then
  call('HSET', key('revisits'), id, string.format('%.0f %s\n%s', NOW, visit.revisit, record))
  call('ZADD', key('due'), NOW + visit.revisit_ms - due_shift(), id)
end

if ending == 'again' then
  count('retries', 1)
  if visit.is_try then call('HSET', key('u'), 't:' .. id, tries + 1) end
  if visit.url_wait_ms > 0 then
    call('ZADD', key('retry'), NOW + visit.url_wait_ms, id)
    count('queued', 1)
  else
    enqueue(id, host, score)
  end
end

if visit.seed ~= '' and call('HEXISTS', key('seeds'), id) == 1 then call('HSET', key('seeds'), id, visit.seed) end
schedule_host(host, due)
if visit.host_failed and failures >= visit.most_failures then set_aside(host, 'failing') end
return ending
