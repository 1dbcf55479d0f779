-- End a lease. ARGV: id, token, worker, ending, code, bytes, wait of the URL ms, wait of the host ms, 1 if the visit
-- tells of trouble of the host, 1 if it counts as a try, failures in a row that set a host aside, line of the report
-- of seeds ('' if it is no seed). Answers the ending; '' when the lease is another's or over: then nothing changes.

local id, token, worker, ending, code = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local bytes, url_wait, host_wait = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local host_failed, counts, most_failures, seed = ARGV[9] == '1', ARGV[10] == '1', tonumber(ARGV[11]), ARGV[12]

if not known() then return 'gone' end
local mine = token .. '\n' .. worker
if redis.call('HGET', key('lease'), id) ~= mine then
  -- Said twice: the first answer may have been lost on its way.
  local last = redis.call('HGET', key('last'), 'f:' .. worker)
  return last and string.match(last, '^' .. token .. '\n(.*)$') or ''
end
redis.call('HSET', key('last'), 'f:' .. worker, token .. '\n' .. ending)

local record, host, place = read(id)
local name = HOSTS .. host
if host_wait > 0 then redis.call('HSET', name, 'd', math.max(due(host), NOW + host_wait)) end
release(id, host)

if bytes > 0 then
  count('bytes', bytes)
  redis.call('HINCRBY', key('hostbytes'), host, bytes)
end

if ending == 'again' then
  count('retries', 1)
  if counts then redis.call('HINCRBY', key('tries'), id, 1) end
  if url_wait > 0 then
    redis.call('ZADD', key('retry'), NOW + url_wait, id)
    count('queued', 1)
  else
    enqueue(id, host, place)
  end
else
  conclude(id, record, ending, code)
  if ending == 'done' then redis.call('HINCRBY', key('pages'), host, 1) end
end
if seed ~= '' and redis.call('HEXISTS', key('seeds'), id) == 1 then redis.call('HSET', key('seeds'), id, seed) end

if host_failed then
  if redis.call('HINCRBY', name, 'f', 1) >= most_failures then set_aside(host, 'failing') end
elseif ending == 'done' then
  redis.call('HDEL', name, 'f')
end
look_when_due(host)
return ending
