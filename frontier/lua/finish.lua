-- End leases. ARGV: for each a JSON object with the fields of `EndedVisit` (packing.py). Returns the ending of each. The
-- ending is '' when the lease is over or another's, and nothing was changed.

local visits, ids, answers = {}, {}, {}
for number, packed in ipairs(ARGV) do
  local visit = cjson.decode(packed)
  visits[number], ids[number] = visit, visit.id
end
local held = call('HMGET', key('lease'), unpack(ids))
local records = call('HMGET', key('u'), unpack(ids))
local seeds = call('HMGET', key('seeds'), unpack(ids))
local has_groups = call('EXISTS', groups_key()) == 1

-- Count what a render fetched for the limits of the job. The page itself was counted when the plain crawler fetched it.
local function note_render(visit, host, fetched, bytes)
  local job = job_root()
  if bytes > 0 then
    add_to(job .. ':count', 'bytes', bytes)
    add_to(job .. ':hostbytes', host, bytes)
  end
  if fetched > 1 then add_to(job .. ':count', 'along', fetched - 1) end
  -- As long as the plain crawler has URLs of this host, it gets the host for the time that the render took.
  call('HSET', key('rests'), host, NOW + math.max(visit.host_wait_ms or 0, 0) + (visit.duration_ms or 0))
end

-- Keep a host in front of the hosts that wait until its session has had so many visits. The session also ends when the
-- queue of the host is empty.
local function go_on_with(host, due, budget)
  if call('HINCRBY', key('sessions'), host, 1) < budget and call('EXISTS', queue_of(host)) == 1 then
    call_later('ZADD', key('front'), text(math.max(due, NOW)), host)
  else
    call('HDEL', key('sessions'), host)
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
  call_later('HSET', key('lease'), 'f:' .. visit.worker, visit.token .. '\n' .. ending)

  local due, others, before = host_state(host)
  if wait > 0 then due = math.max(due, NOW + wait) end
  local failures = visit.host_failed and before + 1 or ending == 'done' and 0 or before
  call_later('ZREM', key('leases'), id)
  call_later('HDEL', key('lease'), id)
  if has_groups then leave_group(id, call('HGET', key('lease'), 'g:' .. id)) end
  local of_host = HOSTS .. host
  call('HSET', of_host, 'n', text(math.max(others - 1, 0)), 'd', text(due), 's', NOW_TEXT)
  if failures ~= before then call('HSET', of_host, 'f', failures) end
  if visit.host_failed then call('HSET', HOSTS .. host, 'e', code) end
  if wait > DAY_MS then call('PEXPIREAT', HOSTS .. host, due + DAY_MS) end

  if bytes > 0 then
    count('bytes', bytes)
    add_to(key('hostbytes'), host, bytes)
  end

  if visit.spender then
    visit.urls, visit.bytes, visit.duration_ms = fetched, bytes, visit.duration_ms or 0 -- they may have been left out
    spend({ visit, ending, tonumber(code) })
  end

  if is_renders() then
    note_render(visit, host, fetched, bytes)
    local urls = {}
    for _, url in ipairs(visit.fetched or {}) do urls[url] = true end
    if ending ~= 'again' then conclude(id, record or '', ending, code, urls) end
  elseif ending ~= 'again' then
    conclude(id, record or '', ending, code)
    if ending == 'done' then
      add_to(key('pages'), host, visit.is_document and 1 or 0)
      if visit.is_document then count('pages', 1) end
      if fetched > 1 then count('along', fetched - 1) end
    end
  end

  if ending ~= 'again' and record and visit.revisit then
    call('HSET', key('revisits'), id, string.format('%.0f %s\n%s', NOW, visit.revisit, record))
    call('ZADD', key('due'), NOW + visit.revisit_ms - due_shift(), id)
  end

  if ending == 'again' then
    count('retries', 1)
    if visit.is_try ~= false then set_tries(id, tries_of(id) + 1, 0) end
    if (visit.url_wait_ms or 0) > 0 then
      call('ZADD', key('retry'), NOW + visit.url_wait_ms, id)
      count('queued', 1)
    else
      enqueue(id, host, score)
    end
  end

  if is_seed then
    if visit.seed then
      call('HSET', key('seeds'), id, visit.seed)
    elseif ending ~= 'again' then -- the seed was queued as a link before its turn
      note_seed(id, ending, code)
    end
  end
  schedule_host(host, due)
  if visit.session_budget then go_on_with(host, due, visit.session_budget) end
  if visit.host_failed and failures >= (visit.most_failures or 1) then set_aside(host, 'failing') end
  return ending
end

for number, visit in ipairs(visits) do
  if held[number] == visit.token .. '\n' .. visit.worker then
    answers[number] = end_visit(visit, records[number], seeds[number])
  elseif not known() then
    return 'gone'
  else
    -- A repeated call gets the first answer, which may have been lost.
    local first = call('HGET', key('lease'), 'f:' .. visit.worker)
    answers[number] = first and string.match(first, '^' .. visit.token .. '\n(.*)$') or ''
  end
end
return answers
