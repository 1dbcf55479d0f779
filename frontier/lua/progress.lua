-- Return the progress of the job: counters (name, value, …), leases, hosts with queued URLs, waiting hosts, ms until the
-- next visit (-1 for never), reason of the pause, reason of the stop, some waiting hosts (host, ms until it is due,
-- current visits, job that holds it, failures in a row, code of the last failure, ms of its block, …), some resting URLs
-- (record, ms, tries, …), ms since the pause, number of added seeds, some groups whose hosts wait (name, ms until the next
-- check, …), number of URLs that are visited again, ms until the first of them is due (-1 for never), the renders: their
-- counters (name, value, …), leases, ms since the oldest was queued (-1 for none), finished renders by lag (exponent, number, …), wanted visits at once
-- of render workers ('' for the setting). ARGV: number of waiting hosts and resting URLs.

if not known(own) then return 'gone' end
local OLDEST = 99 -- number of renders that are looked at for the oldest one, besides the first
local most = tonumber(ARGV[1])
local next_due
for _, name in ipairs({ 'ready', 'retry', 'groupready' }) do
  local first = call('ZRANGE', own[name], 0, 0, 'WITHSCORES')
  if first[1] then next_due = math.min(next_due or math.huge, tonumber(first[2])) end
end
local state = call('HMGET', own.state, 'paused', 'stopped', 'held', 'paused_at', 'held_at', 'revisit')
local since = tonumber(state[1] and state[4] or state[3] and state[5] or NOW)
local after = '(' .. string.format('%.0f', NOW)

local waiting = {}
for _, host in ipairs(call('ZRANGEBYSCORE', own.ready, after, '+inf', 'LIMIT', 0, most)) do
  local found = call('HMGET', HOSTS .. host, 'd', 'n', 'j', 'f', 'e', 'b')
  local visits = tonumber(found[2] or 0)
  waiting[#waiting + 1] = host
  waiting[#waiting + 1] = math.max(tonumber(found[1] or 0) - NOW, 0)
  waiting[#waiting + 1] = visits
  waiting[#waiting + 1] = visits > 0 and found[3] or ''
  waiting[#waiting + 1] = tonumber(found[4] or 0)
  waiting[#waiting + 1] = tonumber(found[5] or 0)
  waiting[#waiting + 1] = math.max(tonumber(found[6] or 0) - NOW, 0)
end

local resting = {}
local rests = call('ZRANGEBYSCORE', own.retry, after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
for at = 1, #rests, 2 do
  local record, tries = read_url(own, rests[at])
  if record then
    resting[#resting + 1] = record
    resting[#resting + 1] = tonumber(rests[at + 1]) - NOW
    resting[#resting + 1] = tries
  end
end

local groups = call('ZRANGE', own.groupready, 0, most - 1, 'WITHSCORES')
for at = 2, #groups, 2 do groups[at] = math.max(tonumber(groups[at]) - NOW, 0) end
local is_continuous = state[6] -- else URLs of an earlier attempt that are due some time are not visited
local first_due = is_continuous and call('ZRANGE', own.due, 0, 0, 'WITHSCORES')[2]
first_due = first_due and math.max(tonumber(first_due) + due_shift(own) - NOW, 0) or -1
if first_due >= 0 then next_due = math.min(next_due or math.huge, NOW + first_due) end
local parked = call('ZCARD', own.parked)

-- Return the ms since the oldest render was queued whose host was not set aside; -1 for none.
local function oldest_render()
  local renders = renders_of(own)
  local first = call('ZRANGE', renders.since, 0, OLDEST, 'WITHSCORES')
  for at = 1, #first, 2 do
    local record = call('HGET', renders.u, first[at]) or ''
    if call('HEXISTS', renders.aside, string.match(record, '^[^\n]*')) == 0 then
      return math.max(NOW - tonumber(first[at + 1]), 0)
    end
  end
  return -1
end

return {
  call('HGETALL', own.count),
  call('ZCARD', own.leases),
  call('ZCARD', own.ready) + parked,
  call('ZCOUNT', own.ready, after, '+inf') + parked,
  next_due and math.max(next_due - NOW, 0) or -1,
  state[1] or state[3] or '',
  state[2] or '',
  waiting,
  resting,
  NOW - since,
  call('LLEN', own.added),
  groups,
  is_continuous and call('ZCARD', own.due) or 0,
  first_due,
  call('HGETALL', renders_of(own).count),
  call('ZCARD', renders_of(own).leases),
  oldest_render(),
  call('HGETALL', renders_of(own).lags),
  call('HGET', own.state, 'render_workers') or '',
}
