-- Lease the next URL that may be visited. ARGV: worker, token, lease ms, visits at once per host, max retries.
-- Answers {'lease', id, record, tries, failures of the host}, {'pause', ms, why}, {'finished'} or {'stopped', why},
-- each with the number of further seeds behind it.

local worker, token, lease_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local per_host, max_retries = tonumber(ARGV[4]), tonumber(ARGV[5])
local BUSY_MS = 250 -- how soon to look again at a host that other visits keep busy
local MOST = 100 -- hosts, leases or retries handled in one call
local LOWER_SHARE = 5 -- one claim of a host in so many skips to its next lower priority

if not known() then return 'gone' end

local further = redis.call('LLEN', key('scope'))

local function handed(id, record, host)
  local failures = redis.call('HGET', HOSTS .. host, 'f')
  return { 'lease', id, record, redis.call('HGET', key('tries'), id) or '0', failures or '0', further }
end

-- The answer to this very claim was lost on its way: give it again.
local id = redis.call('HGET', key('last'), 'c:' .. worker)
id = id and string.match(id, '^' .. token .. '\n(.*)$')
if id and redis.call('HGET', key('lease'), id) == token .. '\n' .. worker then return handed(id, read(id)) end

sweep(NOW, MOST, max_retries)

for _, waiting in ipairs(redis.call('ZRANGEBYSCORE', key('retry'), '-inf', NOW, 'LIMIT', 0, MOST)) do
  redis.call('ZREM', key('retry'), waiting)
  count('queued', -1)
  local record, host, place = read(waiting)
  if record then enqueue(waiting, host, place) else quarantine(waiting) end
end

local state = redis.call('HMGET', key('state'), 'stopped', 'paused', 'opening', 'pages', 'bytes', 'seconds', 'host_pages')
local stopped, paused, opening = state[1], state[2], state[3]
local pages, bytes, seconds, host_pages = tonumber(state[4]), tonumber(state[5]), tonumber(state[6]), tonumber(state[7])
local leased = redis.call('ZCARD', key('leases'))

local function worked_seconds()
  local times = redis.call('HMGET', key('state'), 'active', 'last')
  local active, since = tonumber(times[1] or 0), NOW - tonumber(times[2] or NOW)
  if since > 0 and since < 60000 then active = active + since end
  redis.call('HSET', key('state'), 'active', active, 'last', NOW)
  return active / 1000
end

-- Why nothing is handed out any more; else why nothing is for the moment.
local function reasons()
  local counted = redis.call('HMGET', key('count'), 'done', 'bytes')
  local done, fetched = tonumber(counted[1] or 0), tonumber(counted[2] or 0)
  if stopped then return stopped end
  if pages and done >= pages then return 'limit-pages' end
  if bytes and fetched >= bytes then return 'limit-bytes' end
  if seconds and worked_seconds() >= seconds then return 'limit-seconds' end
  return nil, opening and 'opening' or paused and 'paused' or pages and done + leased >= pages and 'busy'
end

-- The queue's first; now and then the first of a lower priority, so that it is served too.
local function next_id(host)
  local queue = key('q:' .. host)
  local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if not first[1] then return nil end
  local place = tonumber(first[2])
  if place < STANDARD and redis.call('HINCRBY', HOSTS .. host, 'k', 1) % LOWER_SHARE == 0 then
    local below = string.format('%.0f', (math.floor(place / BAND) + 1) * BAND)
    local lower = redis.call('ZRANGEBYSCORE', queue, below, '+inf', 'LIMIT', 0, 1)
    if lower[1] then return lower[1] end
  end
  return first[1]
end

local function lease(host, id, record)
  redis.call('ZREM', key('q:' .. host), id)
  redis.call('ZADD', key('leases'), NOW + lease_ms, id)
  redis.call('HSET', key('lease'), id, token .. '\n' .. worker)
  redis.call('HSET', key('last'), 'c:' .. worker, token .. '\n' .. id)
  local going_on = redis.call('HINCRBY', HOSTS .. host, 'n', 1)
  redis.call('PERSIST', HOSTS .. host)
  count('queued', -1)
  if redis.call('EXISTS', key('q:' .. host)) == 0 then
    redis.call('ZREM', key('ready'), host)
  else
    -- A busy host is looked at again when a visit of it ends, at the latest when this lease does.
    redis.call('ZADD', key('ready'), going_on < per_host and NOW or NOW + lease_ms, host)
  end
  return handed(id, record, host)
end

-- A lease of this host, or nil and, if the host must wait, when to look at it again.
local function visit(host)
  local allowed = due(host)
  if allowed > NOW then return nil, allowed end
  local going_on = tonumber(redis.call('HGET', HOSTS .. host, 'n') or 0)
  if going_on >= per_host then return nil, NOW + BUSY_MS end
  if host_pages then
    local visited = tonumber(redis.call('HGET', key('pages'), host) or 0)
    if visited >= host_pages then set_aside(host, 'limit-host-pages') return nil end
    if visited + going_on >= host_pages then return nil, NOW + BUSY_MS end
  end
  local id = next_id(host)
  if not id then
    redis.call('ZREM', key('ready'), host)
    return nil
  end
  local record = read(id)
  if record then return lease(host, id, record) end
  redis.call('ZREM', key('q:' .. host), id)
  count('queued', -1)
  quarantine(id)
  return nil, NOW
end

local over, wait = reasons()
if over then return { 'stopped', over, further } end
if wait then return { 'pause', BUSY_MS, wait, further } end

for _ = 1, MOST do
  local first = redis.call('ZRANGE', key('ready'), 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) > NOW then break end
  local answer, later = visit(first[1])
  if answer then return answer end
  if later then redis.call('ZADD', key('ready'), later, first[1]) end
end

local next_due
for _, name in ipairs({ 'ready', 'retry', 'leases' }) do
  local first = redis.call('ZRANGE', key(name), 0, 0, 'WITHSCORES')
  if first[1] then next_due = math.min(next_due or math.huge, tonumber(first[2])) end
end
if not next_due then return { 'finished', further } end
return { 'pause', math.max(next_due - NOW, 1), leased > 0 and 'busy' or 'politeness', further }
