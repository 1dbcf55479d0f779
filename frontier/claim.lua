-- Lease the next URL that may be visited. ARGV: worker, token, lease ms, visits at once per host, max retries.
-- Answers {'lease', id, record, tries, failures of the host}, {'pause', ms, why}, {'finished'} or {'stopped', why},
-- each with the number of further seeds behind it.

local worker, token, lease_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local per_host, max_retries = tonumber(ARGV[4]), tonumber(ARGV[5])
local BUSY_MS = 250 -- how soon to look again at a host that other visits keep busy
local MOST = 100 -- hosts, leases or retries handled in one call
local LOWER_SHARE = 5 -- one claim of a host in so many skips to its next lower priority
local GAP_MS = 60000 -- a longer time without a claim was no time at work

local state = call(
  'HMGET',
  key('state'),
  unpack({ 'opened', 'stopped', 'paused', 'opening', 'scope', 'pages', 'bytes', 'seconds', 'host_pages' })
)
local opened, stopped, paused, opening, further = unpack(state, 1, 5)
local pages, bytes, seconds, host_pages = tonumber(state[6]), tonumber(state[7]), tonumber(state[8]), tonumber(state[9])
if not opened then return 'gone' end
further = tonumber(further or 0)

-- The answer to this very claim was lost on its way: give it again.
local given = call('HGET', key('lease'), 'c:' .. worker)
given = given and string.match(given, '^' .. token .. '\n(.*)$')
if given and call('HGET', key('lease'), given) == token .. '\n' .. worker then
  local record, tries, host = read(given)
  local _, _, failures = look(host)
  return { 'lease', given, record, tries, failures, further }
end

sweep(NOW, MOST, max_retries)

for _, id in ipairs(call('ZRANGEBYSCORE', key('retry'), '-inf', NOW, 'LIMIT', 0, MOST)) do
  call('ZREM', key('retry'), id)
  count('queued', -1)
  local record, _, host, place = read(id)
  if record then enqueue(id, host, place) else quarantine(id) end
end

local function worked_seconds()
  local times = call('HMGET', key('state'), 'active', 'last')
  local active, since = tonumber(times[1] or 0), NOW - tonumber(times[2] or NOW)
  if since > 0 and since < GAP_MS then active = active + since end
  call('HSET', key('state'), 'active', active, 'last', NOW)
  return active / 1000
end

-- Why nothing is handed out any more; else why nothing is for the moment.
local function reasons()
  if stopped then return stopped end
  local done = 0
  if pages or bytes then
    local counted = call('HMGET', key('count'), 'done', 'bytes')
    done = tonumber(counted[1] or 0)
    if pages and done >= pages then return 'limit-pages' end
    if bytes and tonumber(counted[2] or 0) >= bytes then return 'limit-bytes' end
  end
  if seconds and worked_seconds() >= seconds then return 'limit-seconds' end
  if opening or paused then return nil, opening and 'opening' or 'paused' end
  if pages and done + call('ZCARD', key('leases')) >= pages then return nil, 'busy' end
end

-- Take the queue's first; now and then the first of a lower priority, so that it is served too.
local function take(host)
  local queue = key('q:' .. host)
  local first = call('ZPOPMIN', queue)
  local id, place = first[1], tonumber(first[2])
  if id and place < STANDARD and call('HINCRBY', HOSTS .. host, 'k', 1) % LOWER_SHARE == 0 then
    local below = string.format('%.0f', (math.floor(place / BAND) + 1) * BAND)
    local lower = call('ZRANGEBYSCORE', queue, below, '+inf', 'LIMIT', 0, 1)
    if lower[1] then
      call('ZADD', queue, first[2], id)
      call('ZREM', queue, lower[1])
      return lower[1]
    end
  end
  return id
end

-- Hand out a URL that was taken from its queue.
local function lease(host, id, going_on, failures)
  count('queued', -1)
  local record, tries = read(id)
  if not record then return quarantine(id) end
  call('ZADD', key('leases'), NOW + lease_ms, id)
  call('HSET', key('lease'), id, token .. '\n' .. worker, 'c:' .. worker, token .. '\n' .. id)
  call('HSET', HOSTS .. host, 'n', going_on + 1)
  call('PEXPIREAT', HOSTS .. host, NOW + lease_ms + 2 * DAY_MS)
  if call('EXISTS', key('q:' .. host)) == 0 then
    call('ZREM', key('ready'), host)
  else
    -- A busy host is looked at again when a visit of it ends, at the latest when this lease does.
    call('ZADD', key('ready'), going_on + 1 < per_host and NOW or NOW + lease_ms, host)
  end
  return { 'lease', id, record, tries, failures, further }
end

-- A lease of this host; or nil and when to look at it again, nil when it has nothing to hand out.
local function visit(host)
  local due, going_on, failures = look(host)
  if due > NOW then return nil, due end
  if going_on >= per_host then return nil, NOW + BUSY_MS end
  if host_pages then
    local visited = tonumber(call('HGET', key('pages'), host) or 0)
    if visited >= host_pages then
      set_aside(host, 'limit-host-pages')
      return nil
    end
    if visited + going_on >= host_pages then return nil, NOW + BUSY_MS end
  end
  local id = take(host)
  if id then return lease(host, id, going_on, failures), NOW end
  call('ZREM', key('ready'), host)
end

local over, wait = reasons()
if over then return { 'stopped', over, further } end
if wait then return { 'pause', BUSY_MS, wait, further } end

for _ = 1, MOST do
  local first = call('ZRANGE', key('ready'), 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) > NOW then break end
  local answer, later = visit(first[1])
  if answer then return answer end
  if later then call('ZADD', key('ready'), later, first[1]) end
end

local next_due
for _, name in ipairs({ 'ready', 'retry', 'leases' }) do
  local first = call('ZRANGE', key(name), 0, 0, 'WITHSCORES')
  if first[1] then next_due = math.min(next_due or math.huge, tonumber(first[2])) end
end
if not next_due then return { 'finished', further } end
local why = call('ZCARD', key('leases')) > 0 and 'busy' or 'politeness'
return { 'pause', math.max(next_due - NOW, 1), why, further }
