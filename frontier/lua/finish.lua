-- End a lease. ARGV: id, token, worker, ending, code, bytes, wait of the URL ms, wait of the host ms, 1 if the visit
-- tells of trouble of the host, 1 if it counts as a try, failures in a row that set a host aside, line of the report
-- of seeds ('' if it is no seed), host. Answers the ending; '' when the lease is another's or over: then nothing changes.

local id, token, worker, ending, code = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local bytes, url_wait, host_wait = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local host_failed, counts, most_failures = ARGV[9] == '1', ARGV[10] == '1', tonumber(ARGV[11])
local seed, host = ARGV[12], ARGV[13]

local held = call('HMGET', key('lease'), id, 'f:' .. worker)
if held[1] ~= token .. '\n' .. worker then
  if not known() then return 'gone' end
  -- Said twice: the first answer may have been lost on its way.
  return held[2] and string.match(held[2], '^' .. token .. '\n(.*)$') or ''
end

local record, tries, _, place = read(id)
if not record then -- lost or damaged meanwhile
  ending, code = 'failed', '-5'
end
call('HSET', key('lease'), 'f:' .. worker, token .. '\n' .. ending)

local due, going_on, failures = look(host)
if host_wait > 0 then due = math.max(due, NOW + host_wait) end
failures = host_failed and failures + 1 or ending == 'done' and 0 or failures
call('ZREM', key('leases'), id)
call('HDEL', key('lease'), id)
call('HSET', HOSTS .. host, 'n', math.max(going_on - 1, 0), 'd', due, 'f', failures)
if host_wait > DAY_MS then call('PEXPIREAT', HOSTS .. host, due + DAY_MS) end

if bytes > 0 then
  count('bytes', bytes)
  call('HINCRBY', key('hostbytes'), host, bytes)
end

if ending ~= 'again' then
  conclude(id, record or '', ending, code)
  if ending == 'done' then call('HINCRBY', key('pages'), host, 1) end
else
  count('retries', 1)
  if counts then call('HSET', key('u'), 't:' .. id, tries + 1) end
  if url_wait > 0 then
    call('ZADD', key('retry'), NOW + url_wait, id)
    count('queued', 1)
  else
    enqueue(id, host, place)
  end
end

if seed ~= '' and call('HEXISTS', key('seeds'), id) == 1 then call('HSET', key('seeds'), id, seed) end
look_when_due(host, due)
if host_failed and failures >= most_failures then set_aside(host, 'failing') end
return ending
