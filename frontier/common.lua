-- Shared by all scripts: put in front of each when it is loaded. KEYS[1] is the job's root key; the other keys of the
-- job and of its hosts follow from it and lie in the same slot. store.py has the table of keys.

local ROOT = KEYS[1]
local HOSTS = string.match(ROOT, '^gf:{[^}]*}:') .. '@'
local BAND = 256 * 2 ^ 40 -- places of one priority: 256 depths of 2^40 sequence numbers
local STANDARD = 2 * BAND -- first place of the standard priority
local DAY_MS = 86400000

local function key(name) return ROOT .. ':' .. name end

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local NOW = clock()

local function known() return redis.call('EXISTS', ROOT) == 1 end

local function count(name, by) redis.call('HINCRBY', key('count'), name, by) end

local function is_aside(host) return redis.call('HEXISTS', key('aside'), host) == 1 end

-- A record is host, place in the queue, JSON, each on a line. Answers nothing when it is lost or damaged.
local function read(id)
  local record = redis.call('HGET', key('u'), id)
  if not record then return nil end
  local host, place = string.match(record, '^([^\n]+)\n(%d+)\n')
  if host then return record, host, place end
end

-- When a host may be visited: after its delay, and after a block.
local function due(host)
  local times = redis.call('HMGET', HOSTS .. host, 'd', 'b')
  return math.max(tonumber(times[1] or 0), tonumber(times[2] or 0))
end

-- Put a URL into its host's queue. What is urgent is looked at as soon as its host is due; the rest stands in line
-- behind the hosts that are due already.
local function enqueue(id, host, place)
  redis.call('ZADD', key('q:' .. host), place, id)
  if is_aside(host) then return count('excluded', 1) end
  count('queued', 1)
  if tonumber(place) < STANDARD then
    redis.call('ZADD', key('ready'), due(host), host)
  else
    redis.call('ZADD', key('ready'), 'NX', math.max(due(host), NOW), host)
  end
end

-- Look at a host again when it is due, if it has anything queued.
local function look_when_due(host) redis.call('ZADD', key('ready'), 'XX', math.max(due(host), NOW), host) end

-- Hand out nothing of a host any more; its URLs count as excluded until it is woken.
local function set_aside(host, why)
  if is_aside(host) then return 0 end
  local waiting = redis.call('ZCARD', key('q:' .. host))
  redis.call('HSET', key('aside'), host, why)
  redis.call('ZREM', key('ready'), host)
  count('queued', -waiting)
  count('excluded', waiting)
  return 1
end

-- The lease of a URL is over. A host record is forgotten a day after its last visit and its due time.
local function release(id, host)
  local name = HOSTS .. host
  redis.call('ZREM', key('leases'), id)
  redis.call('HDEL', key('lease'), id)
  if redis.call('HINCRBY', name, 'n', -1) < 0 then redis.call('HSET', name, 'n', 0) end
  redis.call('PEXPIREAT', name, math.max(due(host), NOW) + DAY_MS)
end

-- The URL is over: counted, and kept with its ending unless it is done.
local function conclude(id, record, ending, code)
  count(ending, 1)
  count('c:' .. code, 1)
  if ending ~= 'done' then redis.call('HSET', key('ended'), id, ending .. '\n' .. code .. '\n' .. record) end
  redis.call('HDEL', key('u'), id)
  redis.call('HDEL', key('tries'), id)
end

-- A URL whose record is lost or damaged fails, so that the rest moves on.
local function quarantine(id)
  conclude(id, redis.call('HGET', key('u'), id) or '', 'failed', '-5')
  count('damaged', 1)
end

-- Take back leases that ran out before `before`, at most `most`. A URL on which workers die again and again fails.
local function sweep(before, most, max_retries)
  local late = redis.call('ZRANGEBYSCORE', key('leases'), '-inf', before, 'LIMIT', 0, most)
  for _, id in ipairs(late) do
    local record, host, place = read(id)
    if not record then
      redis.call('ZREM', key('leases'), id)
      redis.call('HDEL', key('lease'), id)
      quarantine(id)
    else
      release(id, host)
      if redis.call('HINCRBY', key('tries'), id, 1) > max_retries then
        conclude(id, record, 'failed', '-5')
      else
        enqueue(id, host, place)
      end
      look_when_due(host)
    end
    count('swept', 1)
  end
  return #late
end
