-- Shared by all scripts: put in front of each when it is loaded. KEYS[1] is the job's root key; the other keys of the
-- job and of its hosts follow from it and lie in the same slot. store.py has the table of keys.
-- Each redis.call costs about as much as all the Lua around it, so that what lies in one hash is asked for at once.

local ROOT = KEYS[1]
local HOSTS = string.match(ROOT, '^gf:{[^}]*}:') .. '@'
local BAND = 256 * 2 ^ 40 -- places of one priority: 256 depths of 2^40 sequence numbers
local STANDARD = 2 * BAND -- first place of the standard priority
local DAY_MS = 86400000

local call = redis.call
local time = call('TIME')
local NOW = time[1] * 1000 + math.floor(time[2] / 1000)

local function key(name) return ROOT .. ':' .. name end

local function known() return call('EXISTS', ROOT) == 1 end

local function count(name, by) call('HINCRBY', key('count'), name, by) end

local function is_aside(host) return call('HEXISTS', key('aside'), host) == 1 end

-- A URL's record (host, place in the queue, JSON, each on a line), its tries, its host and its place. Answers nothing
-- when the record is lost or damaged.
local function read(id)
  local found = call('HMGET', key('u'), id, 't:' .. id)
  if not found[1] then return nil end
  local host, place = string.match(found[1], '^([^\n]+)\n(%d+)\n')
  if host then return found[1], tonumber(found[2] or 0), host, place end
end

-- What is known of a host: when it may be visited (after its delay, and after a block), visits going on, failures.
local function look(host)
  local found = call('HMGET', HOSTS .. host, 'd', 'b', 'n', 'f')
  local due = math.max(tonumber(found[1] or 0), tonumber(found[2] or 0))
  return due, tonumber(found[3] or 0), tonumber(found[4] or 0)
end

-- Put a URL into its host's queue. What is urgent is looked at as soon as its host is due; the rest stands in line
-- behind the hosts that are due already.
local function enqueue(id, host, place)
  call('ZADD', key('q:' .. host), place, id)
  if is_aside(host) then return count('excluded', 1) end
  count('queued', 1)
  if tonumber(place) < STANDARD then
    call('ZADD', key('ready'), (look(host)), host)
  else
    call('ZADD', key('ready'), 'NX', math.max((look(host)), NOW), host)
  end
end

-- Look at a host again when it is due, if it has anything queued.
local function look_when_due(host, due) call('ZADD', key('ready'), 'XX', math.max(due, NOW), host) end

-- Hand out nothing of a host any more; its URLs count as excluded until it is woken.
local function set_aside(host, why)
  if is_aside(host) then return 0 end
  local waiting = call('ZCARD', key('q:' .. host))
  call('HSET', key('aside'), host, why)
  call('ZREM', key('ready'), host)
  count('queued', 0 - waiting) -- not -0, which is no integer to Redis
  count('excluded', waiting)
  return 1
end

-- The URL is over: counted, and kept with its ending unless it is done.
local function conclude(id, record, ending, code)
  count(ending, 1)
  count('c:' .. code, 1)
  if ending ~= 'done' then call('HSET', key('ended'), id, ending .. '\n' .. code .. '\n' .. record) end
  call('HDEL', key('u'), id, 't:' .. id)
end

-- A URL whose record is lost or damaged fails, so that the rest moves on.
local function quarantine(id)
  conclude(id, call('HGET', key('u'), id) or '', 'failed', '-5')
  count('damaged', 1)
end

-- The lease of a URL is over. Answers when its host is due.
local function release(id, host)
  call('ZREM', key('leases'), id)
  call('HDEL', key('lease'), id)
  local due, going_on = look(host)
  call('HSET', HOSTS .. host, 'n', math.max(going_on - 1, 0))
  return due
end

-- A lease ran out: its URL goes back, or fails if workers die of it again and again.
local function take_back(id, max_retries)
  local record, tries, host, place = read(id)
  if not record then
    call('ZREM', key('leases'), id)
    call('HDEL', key('lease'), id)
    return quarantine(id)
  end
  local due = release(id, host)
  if tries >= max_retries then
    conclude(id, record, 'failed', '-5')
  else
    call('HSET', key('u'), 't:' .. id, tries + 1)
    enqueue(id, host, place)
  end
  look_when_due(host, due)
end

-- Take back leases that ran out before `before`, at most `most`; answers how many.
local function sweep(before, most, max_retries)
  local late = call('ZRANGEBYSCORE', key('leases'), '-inf', before, 'LIMIT', 0, most)
  for _, id in ipairs(late) do take_back(id, max_retries) end
  if #late > 0 then count('swept', #late) end
  return #late
end
