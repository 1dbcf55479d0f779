-- End a lease. ARGV: id, token, worker, ending, code, bytes, wait of the URL ms, wait of the host ms, 1 if the host
-- failed, 1 if the visit counts as a try, failures in a row that set a host aside, line of the report of seeds ('' if
-- the URL is no seed), host, 1 if it was a document, number of URLs that the visit fetched; for a render then its duration
-- in ms and the ids of the URLs that it fetched. Returns the ending. Returns '' and changes nothing when the lease is over
-- or another's.

local id, token, worker, ending, code = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local bytes, url_wait, host_wait = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local host_failed, counts, most_failures = ARGV[9] == '1', ARGV[10] == '1', tonumber(ARGV[11])
local seed, host, document, fetched = ARGV[12], ARGV[13], ARGV[14] == '1', tonumber(ARGV[15])

local held = call('HMGET', key('lease'), id, 'f:' .. worker)
if held[1] ~= token .. '\n' .. worker then
  if not known() then return 'gone' end
  -- A repeated call gets the first answer, which may have been lost.
  return held[2] and string.match(held[2], '^' .. token .. '\n(.*)$') or ''
end

local record, tries, _, score = read_url(id)
if not record then -- the record was lost or damaged during the visit
  ending, code = 'failed', '-5'
end
call('HSET', key('lease'), 'f:' .. worker, token .. '\n' .. ending)

local due, visits, failures = host_state(host)
if host_wait > 0 then due = math.max(due, NOW + host_wait) end
failures = host_failed and failures + 1 or ending == 'done' and 0 or failures
call('ZREM', key('leases'), id)
call('HDEL', key('lease'), id)
call('HSET', HOSTS .. host, 'n', math.max(visits - 1, 0), 'd', due, 's', NOW, 'f', failures)
if host_failed then call('HSET', HOSTS .. host, 'e', code) end
if host_wait > DAY_MS then call('PEXPIREAT', HOSTS .. host, due + DAY_MS) end

if bytes > 0 then
  count('bytes', bytes)
  call('HINCRBY', key('hostbytes'), host, bytes)
end

if is_renders() then
  -- The limits of the job count what renders fetch. The page itself was counted when the plain crawler fetched it.
  local job = job_root()
  if bytes > 0 then
    call('HINCRBY', job .. ':count', 'bytes', bytes)
    call('HINCRBY', job .. ':hostbytes', host, bytes)
  end
  if fetched > 1 then call('HINCRBY', job .. ':count', 'along', fetched - 1) end
  -- As long as the plain crawler has URLs of this host, it gets the host for the time that the render took.
  call('HSET', key('rests'), host, NOW + math.max(host_wait, 0) + tonumber(ARGV[16] or 0))
  local urls = {}
  for at = 17, #ARGV do urls[ARGV[at]] = true end
  if ending ~= 'again' then conclude(id, record or '', ending, code, urls) end
elseif ending ~= 'again' then
  conclude(id, record or '', ending, code)
  if ending == 'done' then
    call('HINCRBY', key('pages'), host, document and 1 or 0)
    if document then count('pages', 1) end
    if fetched > 1 then count('along', fetched - 1) end
  end
end

if ending == 'again' then
  count('retries', 1)
  if counts then call('HSET', key('u'), 't:' .. id, tries + 1) end
  if url_wait > 0 then
    call('ZADD', key('retry'), NOW + url_wait, id)
    count('queued', 1)
  else
    enqueue(id, host, score)
  end
end

if seed ~= '' and call('HEXISTS', key('seeds'), id) == 1 then call('HSET', key('seeds'), id, seed) end
schedule_host(host, due)
if host_failed and failures >= most_failures then set_aside(host, 'failing') end
return ending
