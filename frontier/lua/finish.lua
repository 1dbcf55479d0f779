-- End leases. ARGV: for each a table of the fields of `EndedVisit` that have not their defaults, as MessagePack
-- (packing.py). Returns the ending of each. The ending is '' when the lease is over or another's, and nothing was changed.

local visits, ids, answers = {}, {}, {}
for number, packed in ipairs(ARGV) do
  local visit = cmsgpack.unpack(packed)
  visits[number], ids[number] = visit, visit.id
end
local held = call('HMGET', own.lease, unpack(ids))
local records = call('HMGET', own.u, unpack(ids))
local seeds = call('HMGET', own.seeds, unpack(ids))
local has_groups = call('EXISTS', own.plain.groups) == 1

-- Count what a render fetched for the limits of the job. The page itself was counted when the plain crawler fetched it.
local function note_render(visit, host, fetched, bytes)
  if bytes > 0 then
    count(own.plain, 'bytes', bytes)
    add_to(own.plain.hostbytes, host, bytes)
  end
  if fetched > 1 then count(own.plain, 'along', fetched - 1) end
  -- As long as the plain crawler has URLs of this host, it gets the host for the time that the render took.
  call('HSET', own.rests, host, NOW + math.max(visit.host_wait_ms or 0, 0) + (visit.duration_ms or 0))
end

-- Keep a host in front of the hosts that wait until its session has had so many visits. The session also ends when the
-- queue of the host is empty.
local function go_on_with(host, due, budget)
  if call('HINCRBY', own.sessions, host, 1) < budget and call('EXISTS', queue_of(own, host)) == 1 then
    call_later('ZADD', own.front, text(math.max(due, NOW)), host)
  else
    call('HDEL', own.sessions, host)
  end
end

local function end_visit(visit, kept, is_seed)
  local id, host, fetched, bytes = visit.id, visit.host, visit.urls or 1, visit.bytes or 0
  local wait, ending, code = visit.host_wait_ms or 0, visit.ending, visit.code
  local score = string.match(kept or '', '^[^\n]+\n(%d+)\n')
  local record = score and kept
  if not record then -- the record was lost or damaged during the visit
    ending, code = 'failed', '-5'
  end
  call_later('HSET', own.lease, 'f:' .. visit.worker, visit.token .. '\n' .. ending)

  local due, others, before, _, _, delay_end = host_state(host)
  if visit.is_broken_off then wait = math.max(wait, own_delay_of(host)) end
  if wait > 0 then
    delay_end = math.max(delay_end, NOW + wait)
    due = math.max(due, delay_end)
  end
  local failures = visit.host_failed and before + 1 or ending == 'done' and 0 or before
  call_later('ZREM', own.leases, id)
  call_later('HDEL', own.lease, id)
  if has_groups then leave_group(own, id, call('HGET', own.lease, 'g:' .. id)) end
  local of_host = HOSTS .. host
  call('HSET', of_host, 'n', text(math.max(others - 1, 0)), 'd', text(delay_end), 's', NOW_TEXT)
  if failures ~= before then call('HSET', of_host, 'f', failures) end
  if visit.host_failed then call('HSET', of_host, 'e', code) end
  if visit.own_delay_ms then call('HSET', of_host, 'p', visit.own_delay_ms) end
  if wait > DAY_MS then call('PEXPIREAT', HOSTS .. host, due + DAY_MS) end

  if bytes > 0 then
    count(own, 'bytes', bytes)
    add_to(own.hostbytes, host, bytes)
  end

  if visit.spender then
    visit.urls, visit.bytes, visit.duration_ms = fetched, bytes, visit.duration_ms or 0 -- they may have been left out
    spend({ visit, ending, tonumber(code) }, own)
  end

  if own.is_renders then
    note_render(visit, host, fetched, bytes)
    local urls = {}
    for _, url in ipairs(visit.fetched or {}) do urls[url] = true end
    if ending ~= 'again' then conclude(own, id, record or '', ending, code, urls) end
  elseif ending ~= 'again' then
    conclude(own, id, record or '', ending, code)
    if ending == 'done' then
      add_to(own.pages, host, visit.is_document and 1 or 0)
      if visit.is_document then count(own, 'pages', 1) end
      if fetched > 1 then count(own, 'along', fetched - 1) end
    end
  end

  if ending ~= 'again' and record and visit.revisit then
    call('HSET', own.revisits, id, string.format('%.0f %s\n%s', NOW, visit.revisit, record))
    call('ZADD', own.due, NOW + visit.revisit_ms - due_shift(own), id)
  end

  if ending == 'again' then
    count(own, 'retries', 1)
    if visit.is_try ~= false then set_tries(own, id, tries_of(own, id) + 1, 0) end
    if (visit.url_wait_ms or 0) > 0 then
      call('ZADD', own.retry, NOW + visit.url_wait_ms, id)
      count(own, 'queued', 1)
    else
      enqueue(own, id, host, score)
    end
  end

  if is_seed then
    if visit.seed then
      call('HSET', own.seeds, id, visit.seed)
    elseif ending ~= 'again' then -- the seed was queued as a link before its turn
      note_seed(own, id, ending, code)
    end
  end
  schedule_host(own, host, due)
  if visit.session_budget then go_on_with(host, due, visit.session_budget) end
  if visit.host_failed and failures >= (visit.most_failures or 1) then set_aside(own, host, 'failing') end
  return ending
end

for number, visit in ipairs(visits) do
  if held[number] == visit.token .. '\n' .. visit.worker then
    answers[number] = end_visit(visit, records[number], seeds[number])
  elseif not known(own) then
    return 'gone'
  else
    -- A repeated call gets the first answer, which may have been lost.
    local first = call('HGET', own.lease, 'f:' .. visit.worker)
    answers[number] = first and string.match(first, '^' .. visit.token .. '\n(.*)$') or ''
  end
end
return answers
