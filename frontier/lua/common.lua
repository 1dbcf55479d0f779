-- This file stands in front of each script when the script is loaded. KEYS[1] is the root key of the job. All other keys
-- of the job and of its hosts are made from it and lie in the same slot. store.py has the table of keys.
-- A redis.call costs about as much as all the Lua around it. So the scripts read several fields of a hash in one call.
-- A number that is an argument of a call costs Redis more than a text. So times that many calls store are texts.

local SHARD = string.match(KEYS[1], '^gf:{[^}]*}:')
local HOSTS = SHARD .. '@'
local JOBS = SHARD .. '=jobs'
local BAND = 256 * 2 ^ 40 -- scores of one priority: 256 depths of 2^40 sequence numbers
local STANDARD = 2 * BAND -- lowest score of the standard priority
local REVISIT = 3 * BAND -- lowest score of URLs that are visited again since they are due
local EMBEDS = 2 ^ 40 -- scores at the start of each priority, which belong to embeds
local DAY_MS = 86400000
local BEHIND = 8 * BAND -- added to the score of a URL whose worker was lost, so that it comes after the other URLs of its host
local MAX_LOST = 2 -- a URL that lost so many workers is ended without a visit (MAX_LOST of frontier.lease)

local QUOTA = '-5003' -- the code of a URL that was ended since a quota was reached (archive.crawl_log)

local call = redis.call
local time = call('TIME')
local NOW = time[1] * 1000 + math.floor(time[2] / 1000)

-- Return an integer as text. This is quicker than '%.0f'.
local function text(number) return string.format('%d', number) end

local NOW_TEXT = text(NOW)

-- A job of the shard is a table of the names of its keys, each of which is made when it is first asked for: `job.ready` is
-- the key of its set 'ready'. The renders of a job are such a job, too. Their root key is that of the job and this ending
-- (renders.py).
local RENDERS = '=renders'
local made_by_name = {
  __index = function(job, name)
    local found = job.root .. ':' .. name
    job[name] = found
    return found
  end,
}
local jobs = {} -- by root key

local function job_at(root)
  local job = jobs[root]
  if job then return job end
  local is_renders = string.find(root, RENDERS, -#RENDERS, true) ~= nil
  job = setmetatable({ root = root, is_renders = is_renders }, made_by_name)
  jobs[root] = job
  job.plain = is_renders and job_at(string.sub(root, 1, -#RENDERS - 1)) or job -- the queue of the plain crawler
  return job
end

local function renders_of(job) return job_at(job.plain.root .. RENDERS) end

local own = job_at(KEYS[1]) -- the job of the script; a function of common.lua takes any job

local function queue_of(job, host) return job.root .. ':q:' .. host end

local function known(job) return call('EXISTS', job.plain.root) == 1 end

-- Return the run_id of the server. A server that was started again, or that has taken over from another one, has its own,
-- and may have lost the last changes of the other.
local function run_id()
  local info = call('INFO', 'server')
  local _, at = string.find(info, 'run_id:', 1, true)
  return string.match(info, '^%x+', at + 1)
end

-- The changes of this script that are not stored yet. Changes of one key are stored with one or two calls, for all URLs
-- of the script together.
local sums = {} -- by key of a hash: by field, the number to add
local arguments = {} -- by command and key: the further arguments

-- Add a number to a field of a hash, with `store_changes`.
local function add_to(hash, field, by)
  local changes = sums[hash]
  if not changes then
    changes = {}
    sums[hash] = changes
  end
  changes[field] = (changes[field] or 0) + by
end

-- Call a command that takes any number of arguments for its key, with `store_changes`. One or two arguments are added.
local function call_later(command, name, first, second)
  local of_command = arguments[command]
  if not of_command then
    of_command = {}
    arguments[command] = of_command
  end
  local found = of_command[name]
  if not found then
    found = {}
    of_command[name] = found
  end
  local last = #found
  found[last + 1] = first
  if second then found[last + 2] = second end
end

local function count(job, name, by) add_to(job.count, name, by) end

local MOST_ARGUMENTS = 1000 -- arguments in one call of a command; even

local function store_changes()
  for command, keys in pairs(arguments) do
    for name, found in pairs(keys) do
      for at = 1, #found, MOST_ARGUMENTS do
        local last = math.min(at + MOST_ARGUMENTS - 1, #found)
        if command == 'ZADD XX' then
          call('ZADD', name, 'XX', unpack(found, at, last))
        else
          call(command, name, unpack(found, at, last))
        end
      end
    end
  end
  arguments = {}
  for hash, changes in pairs(sums) do
    local fields = {}
    for field in pairs(changes) do fields[#fields + 1] = field end
    if #fields < 3 then
      for _, field in ipairs(fields) do call('HINCRBY', hash, field, text(changes[field])) end
    else
      for at = 1, #fields, MOST_ARGUMENTS do
        local last = math.min(at + MOST_ARGUMENTS - 1, #fields)
        local before, values = call('HMGET', hash, unpack(fields, at, last)), {}
        for number = at, last do
          local field, place = fields[number], number - at + 1
          values[2 * place - 1], values[2 * place] = field, text(tonumber(before[place] or 0) + changes[field])
        end
        call('HSET', hash, unpack(values))
      end
    end
  end
  sums = {}
end

local function is_aside(job, host) return call('HEXISTS', job.aside, host) == 1 end

-- Few URLs were visited before, or lost a worker. So their tries are in a hash of their own, which most jobs do not
-- have.
local have_tries = {} -- by job, whether the hash exists

local function has_tries(job)
  if have_tries[job] == nil then have_tries[job] = call('EXISTS', job.tries) == 1 end
  return have_tries[job]
end

local function set_tries(job, id, tries, lost)
  if tries > 0 then call('HSET', job.tries, 't:' .. id, tries) end
  if lost > 0 then call('HSET', job.tries, 'l:' .. id, lost) end
  if tries > 0 or lost > 0 then have_tries[job] = true end
end

-- Return the tries of a URL, and the number of workers that were lost with it.
local function tries_of(job, id)
  if not has_tries(job) then return 0, 0 end
  local found = call('HMGET', job.tries, 't:' .. id, 'l:' .. id)
  return tonumber(found[1] or 0), tonumber(found[2] or 0)
end

-- Forget a URL that is in no queue any more.
local function forget_url(job, id)
  call_later('HDEL', job.u, id)
  if has_tries(job) then call_later('HDEL', job.tries, 't:' .. id, 'l:' .. id) end
end

-- Return the record of a URL (host, score and JSON, each on a line), its tries, its host, its score, and the number of
-- workers that were lost with it. Return nothing when the record is lost or damaged.
local function read_url(job, id)
  local record = call('HGET', job.u, id)
  local host, score = string.match(record or '', '^([^\n]+)\n(%d+)\n')
  if not host then return nil end
  local tries, lost = tries_of(job, id)
  return record, tries, host, score, lost
end

-- Return the time from which a host may be visited (after its delay and its block), its current visits, its failures, the
-- end of its last lease, when its key got its expiry, and the end of its delay alone. A time of the last note after now
-- shows that the clock was set back. Then the delay and the lease begin again now.
local function host_state(host)
  local found = call('HMGET', HOSTS .. host, 'd', 'b', 'n', 'f', 's', 'l', 'x')
  local due, leased = tonumber(found[1] or 0), tonumber(found[6] or 0)
  local since = tonumber(found[5] or 0)
  if since > NOW then
    due, leased = NOW + math.max(due - since, 0), NOW + math.max(leased - since, 0)
    call('HSET', HOSTS .. host, 'd', due, 's', NOW, 'l', leased)
  end
  local free = found[2] and math.max(due, tonumber(found[2])) or due
  return free, tonumber(found[3] or 0), tonumber(found[4] or 0), leased, tonumber(found[7] or 0), due
end

-- Return the delay in ms that robots.txt or a sheet asked for at the last visit of a host, and 0 when the delay of the job
-- is as long.
local function own_delay_of(host)
  return tonumber(call('HGET', HOSTS .. host, 'p') or 0)
end

local have_parked = {} -- by job, whether hosts wait for a group

local function is_parked(job, host)
  if have_parked[job] == nil then have_parked[job] = call('EXISTS', job.parked) == 1 end
  return have_parked[job] and call('ZSCORE', job.parked, host)
end

-- Put a URL into the queue of its host. With an urgent URL, the host is checked before all others as soon as it is due.
-- With a seed of the job's file, it is checked at its `turn` among the seeds, before the hosts that were visited, so that
-- seeds that are queued while the crawl goes on come as early as if all had been queued at its beginning. With any other
-- URL, the host is checked after the hosts that are due already.
local function enqueue(job, id, host, score, turn)
  call('ZADD', queue_of(job, host), score, id)
  if is_aside(job, host) then return count(job, 'excluded', 1) end
  count(job, 'queued', 1)
  if tonumber(score) < STANDARD then
    local due = (host_state(host))
    call('ZADD', job.ready, due, host)
    call('ZADD', job.front, due, host)
  elseif not is_parked(job, host) then
    local due = (host_state(host))
    call('ZADD', job.ready, 'NX', turn and due <= NOW and turn or math.max(due, NOW), host)
  end
end

-- Check a host again when it is due, if its queue is not empty.
local function schedule_host(job, host, due)
  call_later('ZADD XX', job.ready, due > NOW and text(due) or NOW_TEXT, host)
end

-- Return the number of URLs of a host that are in segments (frontier/segments).
local function spilled_of(job, host) return tonumber(call('HGET', job.spilled, host) or 0) end

-- Let a URL that may be in a segment not come back from there, since it is queued anew; or end then, with `ending`.
local function mark_unspilled(job, id, ending)
  if call('EXISTS', job.segments) == 0 then return 0 end
  return call(ending and 'HSETNX' or 'HSET', job.unspilled, id, ending or '')
end

-- Note the host of a new URL for the spiller, when its queue has more than `longest` URLs (0 for no limit). Some of the
-- URLs, by their number, are enough to find a long queue.
local SAMPLE = 64

local function note_length(job, host, number, longest)
  if longest == 0 or number % math.max(math.min(SAMPLE, math.floor(longest / 4)), 1) > 0 then return end
  if call('ZCARD', queue_of(job, host)) > longest then call('SADD', job.long, host) end
end

-- `note_seen` is the seen test. It returns 1 for a URL that is new, 0 for one that was seen, and 2 for one of which a
-- Bloom filter alone says so. `place` is the bucket of the exact sets. With a Bloom filter, the numbers of a block and of
-- a line in the block follow, and then a byte with the place of each bit in the line, and a byte with each bit alone. A
-- '!' in front marks a URL that the filter may not drop in error, so that the exact sets decide (frontier.seen).
local LINE_BYTES, BLOCK_BYTES = 256, 63 * 256
local have_forgotten

-- Return whether the Bloom filter has a URL, the key of the exact set, whether the exact set decides, and a function that
-- puts the URL into the filter.
local function read_filter(job, place)
  local mark, bucket, block, line, bits = string.match(place, '^(!?)(%d+) (%d+) (%d+) (.*)$')
  local name, begin = job['bloom:' .. block], tonumber(line) * LINE_BYTES
  local found = call('GETRANGE', name, begin, begin + LINE_BYTES - 1)
  local hashes, has_all = #bits / 2, true
  for number = 1, hashes do
    local byte = string.byte(found, string.byte(bits, number) + 1) or 0
    if bit.band(byte, string.byte(bits, hashes + number)) == 0 then
      has_all = false
      break
    end
  end
  local function put()
    if found == '' then
      call('SETRANGE', name, BLOCK_BYTES - 1, '\0') -- a new block has its whole length at once
      found = string.rep('\0', LINE_BYTES)
    end
    local bytes = { string.byte(found, 1, LINE_BYTES) }
    for number = 1, hashes do
      local at = string.byte(bits, number) + 1
      bytes[at] = bit.bor(bytes[at], string.byte(bits, hashes + number))
    end
    call('SETRANGE', name, begin, string.char(unpack(bytes)))
  end
  return has_all, job['seen:' .. bucket], mark ~= '', put
end

local function note_seen(job, id, place)
  if not string.find(place, ' ', 1, true) then return call('SADD', job['seen:' .. place], id) end
  local is_in_filter, exact, must_be_certain, put = read_filter(job, place)
  local is_new = must_be_certain and call('SADD', exact, id) == 1
  if not is_in_filter then
    put()
    return 1
  end
  if call('HEXISTS', job.u, id) == 1 then return 0 end
  if have_forgotten == nil then have_forgotten = call('EXISTS', job.forgotten) == 1 end
  if have_forgotten and call('SREM', job.forgotten, id) == 1 then return 1 end
  if must_be_certain then
    if not is_new or call('HEXISTS', job.ended, id) == 1 then return 0 end
    mark_unspilled(job, id)
    return 1
  end
  if call('SISMEMBER', exact, id) == 1 or call('HEXISTS', job.ended, id) == 1 then return 0 end
  return 2
end

-- Let a URL be new again. Return 1 if it was seen. A Bloom filter can't lose a URL, so that a set has those it forgot.
local function forget_seen(job, id, place)
  if not string.find(place, ' ', 1, true) then return call('SREM', job['seen:' .. place], id) end
  local is_in_filter, exact = read_filter(job, place)
  call('SREM', exact, id)
  return is_in_filter and call('SADD', job.forgotten, id) or 0
end

-- Let the page of a URL be rendered again. The seen set of the renders is exact.
local function forget_render(job, id, place)
  local renders = renders_of(job)
  if call('HEXISTS', renders.u, id) == 0 then call('SREM', renders['seen:' .. string.match(place, '%d+')], id) end
end

local function longest_queue(job) return tonumber(call('HGET', job.state, 'queue_memory') or 0) end

-- Set a host aside: none of its URLs is handed out, and they count as excluded until the command 'wake'.
local function set_aside(job, host, why)
  if is_aside(job, host) then return 0 end
  local waiting = call('ZCARD', queue_of(job, host)) + spilled_of(job, host)
  call('HSET', job.aside, host, why)
  call('ZREM', job.ready, host)
  call('ZREM', job.parked, host)
  count(job, 'queued', 0 - waiting) -- not -0, which is no integer to Redis
  count(job, 'excluded', waiting)
  return 1
end

-- Store limits: names and values from this place of ARGV on. Hosts beyond the limit of pages become ready again. When
-- the limit of a host or the quotas change, hosts and URLs are to be taken back (wake.lua). No process claims before
-- that is done.
local function take_limits(job, from)
  local before = call('HMGET', job.state, 'host_pages', 'quotas')
  for at = from, #ARGV, 2 do
    if ARGV[at + 1] == '' then
      call('HDEL', job.state, ARGV[at])
    else
      call('HSET', job.state, ARGV[at], ARGV[at + 1])
    end
  end
  for _, host in ipairs(call('SMEMBERS', job.beyond)) do
    if not is_aside(job, host) then call('ZADD', job.ready, 'NX', NOW, host) end
  end
  call('DEL', job.beyond)
  local after = call('HMGET', job.state, 'host_pages', 'quotas')
  if before[1] ~= after[1] or before[2] ~= after[2] then call('HSET', job.state, 'waking', '1 0') end
end

-- Queue groups bound the visits of several hosts together. The job and its renders share the state of a group, and each
-- has its own hosts that wait for the group ('parked', by group and turn) and its own groups with such hosts
-- ('groupready', by the time of the next check).
local TURNS = 2 ^ 40 -- turns of a group in 'parked'; hosts with urgent URLs have the first half of two such ranges

-- Return a group: its number, bounds, current visits, and the time from which its hosts may be visited. A time of the last
-- note after now shows that the clock was set back. Then the delay begins again now. A group that was removed has no number.
local function read_group(job, name)
  local fields = { 'i:' .. name, 'p:' .. name, 'w:' .. name, 'n:' .. name, 'd:' .. name, 's:' .. name }
  local found = call('HMGET', job.plain.groups, unpack(fields))
  local due, since = tonumber(found[5] or 0), tonumber(found[6] or 0)
  if since > NOW then
    due = NOW + math.max(due - since, 0)
    call('HSET', job.plain.groups, 'd:' .. name, due, 's:' .. name, NOW)
  end
  local number, most, delay = tonumber(found[1]), tonumber(found[2] or 1), tonumber(found[3] or 0)
  return { name = name, number = number, most = most, delay = delay, visits = tonumber(found[4] or 0), due = due }
end

-- Store the visits of a group after one began or ended, so that the group rests for its delay. The group's waiting hosts
-- are checked at this time; while all visits of the group go on, not before `busy_until`.
local function note_group(job, group, visits, busy_until)
  group.visits, group.due = visits, math.max(group.due, NOW + group.delay)
  call('HSET', job.plain.groups, 'n:' .. group.name, visits, 'd:' .. group.name, group.due, 's:' .. group.name, NOW)
  local check = visits >= group.most and busy_until or group.due
  for _, each in ipairs({ job.plain, renders_of(job) }) do call('ZADD', each.groupready, 'XX', check, group.name) end
end

-- End the visit of a URL in its group; `name` is nil for a URL of no group.
local function leave_group(job, id, name)
  if not name then return end
  call('HDEL', job.lease, 'g:' .. id)
  local group = read_group(job, name)
  if group.number then return note_group(job, group, math.max(group.visits - 1, 0), group.due) end
  if group.visits > 1 then return call('HINCRBY', job.plain.groups, 'n:' .. name, -1) end
  call('HDEL', job.plain.groups, 'n:' .. name, 'd:' .. name, 's:' .. name)
end

-- End a render: note the time since it was queued if it is done, and give the plain crawler those embeds of the page that
-- the render did not fetch. `fetched` has the ids of the fetched URLs.
local function end_render(job, id, ending, fetched)
  local since = call('ZSCORE', job.since, id)
  call('ZREM', job.since, id)
  if since and ending == 'done' then
    local lag = math.max(NOW - tonumber(since), 1)
    call('HINCRBY', job.lags, math.floor(8 * math.log(lag) / math.log(2)), 1)
    count(job, 'lag_ms', lag)
  end
  local held = call('HGET', job.held, id)
  if not held then return end
  call('HDEL', job.held, id)
  local plain = job.plain
  for _, embed in ipairs(cmsgpack.unpack(held)) do
    local url, host = embed[1], embed[2]
    if not fetched[url] and call('HEXISTS', plain.u, url) == 0 then
      local sequence = call('HINCRBY', plain.count, 'sequence', 1)
      local score = string.format('%.0f', tonumber(embed[3]) * 2 ^ 40 + sequence)
      call('HSET', plain.u, url, host .. '\n' .. score .. '\n' .. embed[4])
      enqueue(plain, url, host, score)
    end
  end
end

-- A URL of a continuous crawl is due at its score in 'due' and this number of ms, which changes when the clock is set back.
local function due_shift(job) return tonumber(call('HGET', job.plain.state, 'dueshift') or 0) end

-- Forget the ending of a URL that is queued again, or may be. How many URLs ended with each code stays known, except for
-- those at a quota, which count as left out.
local function forget_ending(job, id)
  local ended = call('HGET', job.ended, id)
  if not ended then return end
  local ending, code = string.match(ended, '^([^\n]*)\n([^\n]*)')
  count(job, ending, -1)
  if code == QUOTA then count(job, 'c:' .. code, -1) end
  call('HDEL', job.ended, id)
end

-- Put a URL that was visited before back into the queue of its host. Return false for a damaged note.
local function queue_again(job, id, kept, slot)
  local host, json = string.match(kept, '^[^\n]*\n([^\n]+)\n%d+\n(.*)$')
  if not host then return false end
  forget_ending(job, id)
  local score = string.format('%.0f', slot + call('HINCRBY', job.count, 'sequence', 1))
  call('HSET', job.u, id, host .. '\n' .. score .. '\n' .. json)
  enqueue(job, id, host, score)
  return true
end

-- End a URL: count it, and store its ending unless it is done. `fetched` is for renders.
local function conclude(job, id, record, ending, code, fetched)
  if job.is_renders then end_render(job, id, ending, fetched or {}) end
  count(job, ending, 1)
  count(job, 'c:' .. code, 1)
  if ending ~= 'done' then call('HSET', job.ended, id, ending .. '\n' .. code .. '\n' .. record) end
  forget_url(job, id)
end

-- Store the end of a seed that has a report.
local function note_seed(job, id, ending, code)
  local url = string.match(call('HGET', job.seeds, id), '^[^\n]*\n[^\n]*\n[^\n]*\n(.*)$') or ''
  call('HSET', job.seeds, id, ending .. '\n' .. code .. '\n\n' .. url)
end

-- End a URL that was removed from its queue without a visit.
local function end_queued(job, id, record, ending, code)
  if not job.is_renders and call('HEXISTS', job.seeds, id) == 1 then
    note_seed(job, id, ending, code)
  end
  conclude(job, id, record, ending, code)
end

-- Fail a URL whose record is lost or damaged, so that the other URLs of its host are visited.
local function fail_damaged(job, id)
  conclude(job, id, call('HGET', job.u, id) or '', 'failed', '-5')
  count(job, 'damaged', 1)
end

-- End the lease of a URL. Return the time from which its host may be visited, and the end of the host's delay alone.
local function release(job, id, host)
  call('ZREM', job.leases, id)
  leave_group(job, id, call('HGET', job.lease, 'g:' .. id))
  call('HDEL', job.lease, id)
  local due, visits, _, _, _, delay_end = host_state(host)
  call('HSET', HOSTS .. host, 'n', math.max(visits - 1, 0))
  return due, delay_end
end

-- Put a URL back whose lease ended before its visit did. With `counts`, the worker was lost. This was a try, and the URL
-- goes behind the others of its host, since the URL may have ended the worker. After MAX_LOST lost workers, the next
-- worker ends the URL without a visit and writes a line to crawl.log. The visit may have asked the host a moment ago. So
-- the host rests for `rest` ms, or for its own delay when that is longer.
local function take_back(job, id, max_retries, counts, rest)
  local record, tries, host, score, lost = read_url(job, id)
  if not record then
    call('ZREM', job.leases, id)
    leave_group(job, id, call('HGET', job.lease, 'g:' .. id))
    call('HDEL', job.lease, id)
    return fail_damaged(job, id)
  end
  local due, delay_end = release(job, id, host)
  if rest then
    delay_end = math.max(delay_end, NOW + math.max(rest, own_delay_of(host)))
    due = math.max(due, delay_end)
    call('HSET', HOSTS .. host, 'd', text(delay_end), 's', NOW_TEXT)
  end
  if counts and tries >= max_retries + MAX_LOST and not job.is_renders then
    conclude(job, id, record, 'failed', '-5')
  elseif counts then
    set_tries(job, id, tries + 1, lost + 1)
    enqueue(job, id, host, string.format('%.0f', tonumber(score) + BEHIND))
  else
    enqueue(job, id, host, score)
  end
  schedule_host(job, host, due)
end

-- Return whether URLs in segments are to be visited. The hosts of the others are set aside, or have only documents in
-- memory and the limit of pages is reached.
local function awaits_segments(job)
  local plain = job.plain
  for _, host in ipairs(call('HKEYS', plain.spilled)) do
    if not is_aside(plain, host) and call('SISMEMBER', plain.beyond, host) == 0 then return true end
  end
  return false
end

-- Return whether the job has a limit of pages and has reached this limit, with the pages of its other shards.
local function is_page_limit_reached(job)
  local state = call('HMGET', job.plain.state, 'pages', 'others')
  if not state[1] then return false end
  local elsewhere = string.match(state[2] or '', '^%d+ %d+ (%d+)')
  local pages = tonumber(call('HGET', job.plain.count, 'pages') or 0) + tonumber(elsewhere or 0)
  return pages >= tonumber(state[1])
end

-- Return for how many seconds a job has worked, up to now. A long time without a claim does not count.
local GAP_MS = 60000

local function worked_seconds(job, is_paused)
  local times = call('HMGET', job.state, 'active', 'last')
  local active, since = tonumber(times[1] or 0), NOW - tonumber(times[2] or NOW)
  if since > 0 and since < GAP_MS and not is_paused then active = active + since end
  call('HSET', job.state, 'active', active, 'last', NOW)
  return active / 1000
end

-- Take back at most `most` leases that expired before `before`. Return their number. The hosts rest as in `take_back`;
-- those of leases that expired by themselves need no rest, since the visits began long ago, and `rest` is nil.
local function sweep(job, before, most, max_retries, rest)
  local late = call('ZRANGEBYSCORE', job.leases, '-inf', before, 'LIMIT', 0, most)
  for _, id in ipairs(late) do take_back(job, id, max_retries, true, rest) end
  if #late > 0 then count(job, 'swept', #late) end
  return #late
end
