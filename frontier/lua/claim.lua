-- Lease the next URLs that may be visited, at most one for each claim. ARGV: lease ms, largest number of visits per host,
-- max retries, the number of claims of a host of which one takes a URL of a lower priority, then for each claim: worker,
-- token.
-- Returns {'leases', leases}, {'pause', ms, reason}, {'finished'} or {'stopped', reason}, each followed by the length of
-- the list 'scope'. A lease is {number of the claim, id, record, tries, failures of the host, lost workers, history}.
-- There may be fewer leases than claims. Returns {'group', version of the groups, hosts} when hosts are due whose groups
-- are not known. The worker stores their groups (group.lua) and claims again. Returns {'wake'} after a limit or a quota
-- was changed. The worker takes back hosts and URLs (wake.lua) and claims again.
-- The steps of a claim are at the end of this file. The functions above them have the order of the steps.

local lease_ms, per_host, max_retries = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local BUSY_MS = 250 -- time until a host with too many visits is checked again
local REST_MS = 1000 -- time until the renders of a host are checked again while the plain crawler has URLs of the host
local GROUPING_MS = 10000 -- time until a host is checked again whose group a worker is looking up
local BATCH = 100 -- largest number of hosts, leases or retries in one call
local LOWER_SHARE = tonumber(ARGV[4]) -- so many claims of a host, of which one takes a URL of the next lower priority
local DUE_SHARE = 5 * LOWER_SHARE -- so many claims of a host, of which one takes a URL that is due to be visited again
local JOB = string.sub(own.root, #SHARD + 1)
local LEASE_END = text(NOW + lease_ms)
local CLOCK_MS = 1000 -- precision of the time of the last claim
local FIRST_BYTES, FIRST_URLS = 1048576, 100 -- what a visit is expected to take before the first visit has ended
local SPREAD = 4 -- a visit may take so many times the mean before several visits together go beyond a limit

-- The state of the job. `groups` is the version of the queue groups, `revisit` is set when URLs are visited again,
-- `others` when the job has further shards (share.lua).
local plain = own.plain
local opened, stopped, paused, held, opening, waking, scope_length, clock, quotas, groups, revisit, shift, others, pages, bytes,
  seconds, host_pages, urls = unpack(call('HMGET', plain.state, 'opened', 'stopped', 'paused', 'held', 'opening', 'waking',
    'scope', 'clock', 'quotas', 'groups', 'revisit', 'dueshift', 'others', 'pages', 'bytes', 'seconds', 'host_pages', 'urls'))
if not opened then return 'gone' end
paused, scope_length, shift = paused or held, tonumber(scope_length or 0), tonumber(shift or 0)
bytes, seconds, urls = tonumber(bytes), tonumber(seconds), tonumber(urls)
pages, host_pages = tonumber(pages), tonumber(host_pages)
if own.is_renders then
  pages, host_pages = nil, nil -- pages are counted when the plain crawler fetches them
  clock = call('HGET', own.state, 'clock')
end
clock = tonumber(clock or 0)

local claims = {} -- claims without a lease: number, worker and token
local leases = {} -- the answer
local picked = {} -- URLs that are leased now, without their records: id, host, failures of the host, group
local pages_over, embeds_only = false, false -- the limit of pages is reached; the current visits may reach it
local ungrouped -- a host that is due and whose group is not known

-- Return the history of a URL that is visited again, as the worker stored it; '' for any other URL.
local function history(id)
  if not revisit or own.is_renders then return '' end
  return string.match(call('HGET', own.revisits, id) or '', '^%d+ ([^\n]*)') or ''
end

-- Return the lease of the first answer to a claim when this answer was lost.
local function given_before(claim, last)
  local number, worker, token = unpack(claim)
  if not last or string.find(last, token, 1, true) ~= 1 then return nil end
  local id = string.sub(last, #token + 2)
  if call('HGET', own.lease, id) ~= token .. '\n' .. worker then return nil end
  local record, tries, host, _, lost = read_url(own, id)
  if not record then return nil end
  local _, _, failures = host_state(host)
  return { number, id, record, tries, failures, lost, history(id) }
end

-- Read the claims. Give those their leases again whose answers were lost.
local function read_claims()
  local workers = {}
  for at = 5, #ARGV, 2 do
    claims[#claims + 1] = { #claims + 1, ARGV[at], ARGV[at + 1] }
    workers[#workers + 1] = 'c:' .. ARGV[at]
  end
  for number, last in ipairs(call('HMGET', own.lease, unpack(workers))) do
    leases[#leases + 1] = given_before(claims[number], last)
  end
end

-- Note the time. When the clock was set back, all hosts are checked now, and their delays begin again. Resting URLs are
-- queued. Leases keep their remaining time.
local function check_clock()
  if NOW < clock - CLOCK_MS then
    for _, name in ipairs({ 'ready', 'front', 'retry', 'groupready' }) do
      call('ZUNIONSTORE', own[name], 1, own[name], 'WEIGHTS', 0)
    end
    local ends = call('ZRANGE', own.leases, 0, -1, 'WITHSCORES')
    for at = 1, #ends, 2 do call('ZADD', own.leases, tonumber(ends[at + 1]) - (clock - NOW), ends[at]) end
    if revisit and not own.is_renders then shift = call('HINCRBY', own.state, 'dueshift', NOW - clock) end
  end
  if math.abs(NOW - clock) > CLOCK_MS then call('HSET', own.state, 'clock', NOW) end
end

-- Queue the URLs again whose rest after a failure is over.
local function queue_rested()
  for _, id in ipairs(call('ZRANGEBYSCORE', own.retry, '-inf', NOW, 'LIMIT', 0, BATCH)) do
    call('ZREM', own.retry, id)
    count(own, 'queued', -1)
    local record, _, host, score = read_url(own, id)
    if record then enqueue(own, id, host, score) else fail_damaged(own, id) end
  end
end

-- Queue the URLs behind the new ones that are due to be visited again.
local function queue_due()
  if not revisit or own.is_renders then return end
  for _, id in ipairs(call('ZRANGEBYSCORE', own.due, '-inf', NOW - shift, 'LIMIT', 0, BATCH)) do
    call('ZREM', own.due, id)
    local kept = call('HGET', own.revisits, id)
    if kept and call('HEXISTS', own.u, id) == 0 and not queue_again(own, id, kept, REVISIT + EMBEDS) then
      count(own, 'damaged', 1)
    end
  end
end

-- Return whether the visits in progress and one more are expected to stay below a limit. Close to a limit, visits are
-- handed out one at a time, so that a job goes beyond its limit by one visit.
local function is_close(limit, amount, each, visits) return visits > 0 and amount + (visits + 1) * each > limit end

-- Return the reason why the job has stopped, or nil and the reason why it pauses.
local function reasons()
  if stopped then return stopped end
  if quotas then
    local over = call('HGET', plain.spent, 'job\n')
    if over then return over end
  end
  local visited, along, documents, got, elsewhere = 0, 0, 0, 0, 0
  if pages or bytes or urls then
    local counted = call('HMGET', plain.count, 'done', 'along', 'pages', 'bytes')
    visited, along = tonumber(counted[1] or 0), tonumber(counted[2] or 0)
    documents, got = tonumber(counted[3] or 0), tonumber(counted[4] or 0)
    if others then
      local sums = {}
      for number in string.gmatch(others, '%d+') do sums[#sums + 1] = tonumber(number) end
      visited, along, documents, got = visited + sums[1], along + sums[2], documents + sums[3], got + sums[4]
      elsewhere = sums[5]
    end
    if urls and visited + along >= urls then return 'limit-urls' end
    if bytes and got >= bytes then return 'limit-bytes' end
  end
  if seconds and worked_seconds(plain, paused) >= seconds then return 'limit-seconds' end
  if opening or paused then return nil, opening and 'opening' or 'paused' end
  if bytes or urls or pages and not own.is_renders then
    local visits = call('ZCARD', own.leases) + #picked + elsewhere
    local mean = SPREAD / math.max(visited, 1)
    if bytes and is_close(bytes, got, visited > 0 and got * mean or FIRST_BYTES, visits) then return nil, 'busy' end
    -- Without a page that a ghost visited, a visit is one URL.
    local each = visited == 0 and FIRST_URLS or along == 0 and 1 or (visited + along) * mean
    if urls and is_close(urls, visited + along, each, visits) then return nil, 'busy' end
    if own.is_renders then return end
    pages_over = pages ~= nil and documents >= pages
    embeds_only = pages ~= nil and documents + visits >= pages
  end
end

-- Return whether no further URL may be picked. Close to a limit, URLs are handed out one at a time.
local function is_enough()
  if #picked == 0 or #picked == #claims then return #picked > 0 end
  if not (pages or bytes or urls) then return false end
  local over, wait = reasons()
  return over or wait or embeds_only
end

-- Return the first embed in the queue of a host, without removing it. URLs that lost a worker come last.
local function first_embed(host)
  for _, behind in ipairs({ 0, BEHIND }) do
    for priority = 0, 3 do
      local start = behind + priority * BAND
      local from, to = string.format('%.0f', start), string.format('(%.0f', start + EMBEDS)
      local found = call('ZRANGEBYSCORE', queue_of(own, host), from, to, 'LIMIT', 0, 1)
      if found[1] then return found[1] end
    end
  end
end

-- Park a host that has only documents in its queue until the limit of pages is raised.
local function park_host(host)
  call('ZREM', own.ready, host)
  if call('EXISTS', queue_of(own, host)) == 1 then call('SADD', own.beyond, host) end
end

-- Return the reason why the quota of a host, or of its domain, is reached; nil when there is none.
local function quota_of_host(host)
  local fields = { 'host\n' .. host }
  local name = string.gsub(host, ':%d+$', '')
  while name ~= '' and #fields < 130 do
    fields[#fields + 1] = 'domain\n' .. name
    name = string.match(name, '^[^.]*%.(.+)$') or ''
  end
  for _, why in ipairs(call('HMGET', plain.spent, unpack(fields))) do
    if why then return why end
  end
end

-- End a URL that was removed from its queue, if the quota of its seed is reached. Return whether that is so.
local function retire(id)
  local record = read_url(own, id)
  local json = record and string.match(record, '^[^\n]*\n[^\n]*\n(.*)$')
  local is_read, fields = pcall(cjson.decode, json or '')
  local source = is_read and type(fields) == 'table' and fields[6]
  if type(source) ~= 'string' or not call('HGET', plain.spent, 'seed\n' .. source) then return false end
  count(own, 'queued', -1)
  conclude(own, id, record, 'excluded', QUOTA)
  call('SADD', own.retired, id)
  return true
end

-- Return the group of a host; nothing for none. Set `ungrouped` when that is not known.
local function group_of(host)
  local version, over, name = string.match(call('HGET', plain.hostgroups, host) or '', '^(%x+)\n(%d+)\n(.*)$')
  over = tonumber(over)
  if version ~= groups or over > 0 and (over <= NOW or over > NOW + DAY_MS) then
    ungrouped = host
  elseif name ~= '' then
    return read_group(own, name)
  end
end

-- Return the first hosts, at most so many, that wait for a group.
local function parked_of(group, most)
  local first = group.number * 2 * TURNS
  local from, to = string.format('%.0f', first), string.format('(%.0f', first + 2 * TURNS)
  return call('ZRANGEBYSCORE', own.parked, from, to, 'LIMIT', 0, most)
end

-- Let a host wait for its group, behind the other hosts that wait. A host with an urgent URL waits before those without.
local function park(host, group)
  call('ZREM', own.ready, host)
  local first = call('ZRANGE', queue_of(own, host), 0, 0, 'WITHSCORES')
  if not first[1] then return end
  local turn = group.number * 2 * TURNS + call('HINCRBY', plain.groups, 'turn', 1)
  if tonumber(first[2]) < STANDARD then
    call('ZADD', own.parked, string.format('%.0f', turn), host)
  else
    call('ZADD', own.parked, 'NX', string.format('%.0f', turn + TURNS), host)
  end
  local check = group.visits >= group.most and NOW + lease_ms or group.due
  call('ZADD', own.groupready, 'NX', check, group.name)
end

-- Remove and return the first URL of the queue. Every so many times, take the first URL of a lower priority, and more
-- seldom of the lowest one, so that no priority waits for ever.
local function pop_url(host)
  local queue = queue_of(own, host)
  local first = call('ZPOPMIN', queue)
  local id, score = first[1], tonumber(first[2])
  local turn = id and score < (revisit and REVISIT or STANDARD) and call('HINCRBY', HOSTS .. host, 'k', 1) or 1
  if turn % LOWER_SHARE == 0 then
    local below = revisit and turn % DUE_SHARE == 0 and REVISIT or (math.floor(score / BAND) + 1) * BAND
    below = string.format('%.0f', below)
    local lower = call('ZRANGEBYSCORE', queue, below, '+inf', 'LIMIT', 0, 1)
    if lower[1] then
      call('ZADD', queue, first[2], id)
      call('ZREM', queue, lower[1])
      return lower[1]
    end
  end
  return id
end

-- Pick a URL that was removed from its queue, and note the visit of its host.
local function pick(host, id, visits, failures, extended, group)
  local of_host = HOSTS .. host
  call('HSET', of_host, 'n', text(visits + 1), 's', NOW_TEXT, 'l', LEASE_END, 'j', JOB)
  if group then
    call('HSET', own.lease, 'g:' .. id, group.name)
    call('HINCRBY', plain.groups, 'v:' .. group.name, 1)
    note_group(own, group, group.visits + 1, NOW + lease_ms)
  end
  -- The state of a host is kept for at least a day after its last lease. A block or a delay that is longer is over.
  if extended < NOW - DAY_MS then
    call('PEXPIREAT', of_host, text(NOW + lease_ms + 2 * DAY_MS))
    call('HSET', of_host, 'x', NOW_TEXT)
  end
  if call('EXISTS', queue_of(own, host)) == 0 then
    call_later('ZREM', own.ready, host)
  else
    -- A host with too many visits is checked again when a visit ends, at the latest when this lease ends.
    call_later('ZADD', own.ready, visits + 1 < per_host and NOW_TEXT or LEASE_END, host)
  end
  picked[#picked + 1] = { id, host, failures, group and group.name }
end

-- Take back the leases of a host whose last lease has expired, so that its worker is gone. The whole job of this worker
-- may be gone, too. Then no other claim would take back its leases. Return false while further expired leases may be those
-- of the host, since each of them ends a visit of the host when it is taken back.
local function free_host(host)
  local holder = job_at(SHARD .. (call('HGET', HOSTS .. host, 'j') or ''))
  if holder ~= own and known(holder) then
    sweep(holder, NOW, BATCH, max_retries)
    if call('ZCOUNT', holder.leases, '-inf', NOW) > 0 then return false end
  end
  if call('ZCOUNT', own.leases, '-inf', NOW) > 0 then return false end
  call('HSET', HOSTS .. host, 'n', 0)
  return true
end

-- Pick a URL of this host, and return true. Else return nil and the time of the next check, or nil when the queue is empty
-- or the host waits for its group. With `has_turn`, the group of the host has a visit free, and it is the host's turn.
local function pick_from(host, has_turn)
  local due, visits, failures, leased, extended = host_state(host)
  if due > NOW then return nil, due end
  if visits >= per_host then
    if leased > NOW then return nil, NOW + BUSY_MS end
    return nil, free_host(host) and NOW or NOW + BUSY_MS
  end
  if own.is_renders and call('EXISTS', queue_of(plain, host)) == 1 then
    -- The plain crawler has URLs of this host, too. It gets the host for the time that the last render took.
    local rest = tonumber(call('HGET', own.rests, host) or 0)
    if rest > NOW and rest < NOW + DAY_MS then return nil, math.min(rest, NOW + REST_MS) end
  end
  local group = groups and group_of(host)
  if ungrouped then return nil, NOW + GROUPING_MS end
  if group and not has_turn then
    if group.visits >= group.most or group.due > NOW or parked_of(group, 1)[1] then return park(host, group) end
  end
  local spent = quotas and quota_of_host(host)
  if spent then
    set_aside(own, host, spent)
    return nil
  end
  local documents_wait, host_over = embeds_only, false
  if host_pages then
    local host_documents = tonumber(call('HGET', own.pages, host) or 0)
    host_over = host_documents >= host_pages
    documents_wait = documents_wait or host_documents + visits >= host_pages
  end
  local id
  if documents_wait then
    id = first_embed(host)
    if id then
      call('ZREM', queue_of(own, host), id)
    elseif visits == 0 and host_over then
      set_aside(own, host, 'limit-host-pages')
      return nil
    elseif pages_over then
      park_host(host)
      return nil
    else
      return nil, NOW + BUSY_MS
    end
  else
    id = pop_url(host)
  end
  if id and quotas and retire(id) then
    if call('EXISTS', queue_of(own, host)) == 1 then return nil, NOW end
    id = nil
  end
  if id then
    pick(host, id, visits, failures, extended, group)
    return true
  end
  call('ZREM', own.ready, host)
end

-- The current visits may reach the limit of pages. So pick one embed, and no document.
local function pick_embed()
  for _, host in ipairs(call('ZRANGEBYSCORE', own.ready, '-inf', NOW, 'LIMIT', 0, BATCH)) do
    if first_embed(host) then
      local is_picked, later = pick_from(host)
      if later then call('ZADD', own.ready, later, host) end
      if is_picked or ungrouped then return end
    end
  end
end

-- Pick URLs of the hosts in front that are due. Each of them is taken out of the front, and comes back when the visit
-- ends and the session goes on. A session has an end, and only a host that waited can begin one. So each host that waits
-- has its turn. A host with a further urgent URL stays in front.
local function pick_in_front()
  for _, host in ipairs(call('ZRANGEBYSCORE', own.front, '-inf', NOW_TEXT, 'LIMIT', 0, #claims)) do
    if ungrouped or is_enough() then return end
    call('ZREM', own.front, host)
    if call('ZSCORE', own.ready, host) then
      local _, later = pick_from(host)
      if later then call_later('ZADD', own.ready, later, host) end
      local first = call('ZRANGE', queue_of(own, host), 0, 0, 'WITHSCORES')
      if first[2] and tonumber(first[2]) < STANDARD then call('ZADD', own.front, later or NOW + BUSY_MS, host) end
    end
  end
end

-- Pick a URL from the next host that waits for this group.
local function pick_from_group(name)
  local group = read_group(own, name)
  if group.number and group.visits >= group.most then
    -- The visits may be those of workers that are gone, and nobody else may take back the renders or the plain visits.
    sweep(own.is_renders and plain or renders_of(own), NOW, BATCH, max_retries)
    group = read_group(own, name)
    if group.visits >= group.most then return call('ZADD', own.groupready, NOW + lease_ms, name) end
  end
  if group.number and group.due > NOW then return call('ZADD', own.groupready, group.due, name) end
  local waiting = group.number and parked_of(group, 2) or {}
  if not waiting[2] then call('ZREM', own.groupready, name) end
  local host = waiting[1]
  if not host then return end
  call('ZREM', own.parked, host)
  local _, later = pick_from(host, true)
  if later then call('ZADD', own.ready, later, host) end
end

-- Pick URLs of the hosts and groups that are due. Hosts that wait are not looked at. Return false when a call can pick no
-- more of them.
local function pick_next()
  local most = groups and 1 or math.min(#claims - #picked, BATCH)
  local hosts = call('ZRANGE', own.ready, 0, most - 1, 'WITHSCORES')
  local waiting = groups and call('ZRANGE', own.groupready, 0, 0, 'WITHSCORES') or {}
  local due, group_due = tonumber(hosts[2] or math.huge), tonumber(waiting[2] or math.huge)
  if math.min(due, group_due) > NOW then return false end
  if group_due <= due then
    pick_from_group(waiting[1])
  else
    for at = 1, #hosts, 2 do
      if tonumber(hosts[at + 1]) > NOW or is_enough() then break end
      local is_picked, later = pick_from(hosts[at])
      if not is_picked and later then call_later('ZADD', own.ready, later, hosts[at]) end
      if ungrouped then break end
    end
  end
  return true
end

-- Pick a URL for each claim, as far as there are URLs that may be visited.
local function pick_all()
  pick_in_front()
  store_changes()
  for _ = 1, BATCH do
    if ungrouped or is_enough() or not pick_next() then break end
    store_changes()
  end
end

-- Give the picked URLs to the claims. A URL whose record is damaged ends, and its host is checked again.
local function give()
  local ids = {}
  for number, each in ipairs(picked) do ids[number] = each[1] end
  count(own, 'queued', -#picked)
  local records = call('HMGET', own.u, unpack(ids))
  for number, each in ipairs(picked) do
    local id, host, failures, group = unpack(each)
    local record = records[number]
    if record and string.find(record, '^[^\n]+\n%d+\n') then
      local _, worker, token = unpack(claims[#leases + 1])
      call_later('ZADD', own.leases, LEASE_END, id)
      call_later('HSET', own.lease, id, token .. '\n' .. worker)
      call_later('HSET', own.lease, 'c:' .. worker, token .. '\n' .. id)
      local tries, lost = tries_of(own, id)
      leases[#leases + 1] = { #leases + 1, id, record, tries, failures, lost, history(id) }
    else
      fail_damaged(own, id)
      leave_group(own, id, group)
      call('HINCRBY', HOSTS .. host, 'n', -1)
      schedule_host(own, host, NOW)
    end
  end
end

-- Return the answer by which the worker looks up the groups of hosts that are due.
local function grouping()
  local hosts = call('ZRANGEBYSCORE', own.ready, '-inf', NOW, 'LIMIT', 0, BATCH)
  local unknown = { ungrouped }
  if #hosts > 0 then
    local found = call('HMGET', plain.hostgroups, unpack(hosts))
    for number, host in ipairs(hosts) do
      if host ~= ungrouped and string.match(found[number] or '', '^%x*') ~= groups then
        unknown[#unknown + 1] = host
        call('ZADD', own.ready, NOW + GROUPING_MS, host)
      end
    end
  end
  return { 'group', groups, unknown, scope_length }
end

-- The limit of pages is reached, so that documents are not visited any more. Resting documents go back to their queues,
-- and hosts without embeds are parked.
local function drop_documents()
  for _, id in ipairs(call('ZRANGE', own.retry, 0, BATCH - 1)) do
    local record, _, host, score = read_url(own, id)
    if not record or tonumber(score) % BAND >= EMBEDS then
      call('ZREM', own.retry, id)
      count(own, 'queued', -1)
      if record then enqueue(own, id, host, score) else fail_damaged(own, id) end
    end
  end
  for _, host in ipairs(call('ZRANGE', own.ready, 0, BATCH - 1)) do
    if not first_embed(host) then park_host(host) end
  end
end

-- Return the answer when nothing is queued or leased: the end of the job, or why the job goes on. A render finds links,
-- and a plain visit finds pages to render. So neither queue is finished before the other is empty. At the limit of pages,
-- neither seeds nor URLs that are due some time would be visited, so that the job does not wait for them.
local function end_of_queue()
  local is_over = is_page_limit_reached(own)
  local has_seeds = call('HEXISTS', plain.state, 'seeding') == 1 -- seeds wait in the file
  if has_seeds and not is_over then return { 'pause', BUSY_MS, 'opening', scope_length } end
  local first = revisit and call('ZRANGE', plain.due, 0, 0, 'WITHSCORES') or {}
  if first[1] and not is_over then
    return { 'pause', math.max(tonumber(first[2]) + shift - NOW, 1), 'due', scope_length }
  end
  local other = own.is_renders and plain or renders_of(own)
  if call('EXISTS', other.ready, other.retry, other.leases, other.groupready) > 0 then
    return { 'pause', BUSY_MS, 'busy', scope_length }
  end
  if awaits_segments(own) then return { 'pause', BUSY_MS, own.is_renders and 'busy' or 'spilled', scope_length } end
  if others then return { 'pause', BUSY_MS, 'empty', scope_length } end -- the worker asks the other shards
  local is_cut_off = has_seeds or first[1] or call('EXISTS', plain.beyond) == 1
  if is_cut_off then return { 'stopped', 'limit-pages', scope_length } end
  call('HSET', plain.state, 'finished', NOW) -- from now on, operators can't add seeds (add.lua)
  return { 'finished', scope_length }
end

-- Return the answer when no URL may be visited now.
local function nothing_now()
  local next_due
  for _, name in ipairs({ 'ready', 'retry', 'leases', 'groupready' }) do
    local first = call('ZRANGE', own[name], 0, 0, 'WITHSCORES')
    if first[1] then next_due = math.min(next_due or math.huge, tonumber(first[2])) end
  end
  if not next_due then return end_of_queue() end
  local why = call('ZCARD', own.leases) > 0 and 'busy' or 'politeness'
  return { 'pause', math.max(next_due - NOW, 1), why, scope_length }
end

-- The steps of a claim.

read_claims()
if leases[1] then return { 'leases', leases, scope_length } end
if waking then return { 'wake', scope_length } end

check_clock()
sweep(own, NOW, BATCH, max_retries)
queue_rested()
queue_due()
store_changes()

local over, wait = reasons()
if over then return { 'stopped', over, scope_length } end
if wait then return { 'pause', BUSY_MS, wait, scope_length } end

local is_one_embed = embeds_only and not pages_over
if is_one_embed then pick_embed() else pick_all() end
store_changes()
if picked[1] then
  give() -- none when the records are damaged; the worker claims again then
  if ungrouped then call('ZADD', own.ready, 'XX', NOW, ungrouped) end
  return { 'leases', leases, scope_length }
end
if ungrouped then return grouping() end
if is_one_embed then return { 'pause', BUSY_MS, 'busy', scope_length } end

if pages_over then drop_documents() end
return nothing_now()
