-- Where the job stands. Answers counters (name, value, …), leases, hosts with queued URLs, those that must wait,
-- ms until something may be visited (-1 for never), why paused, why stopped.

if not known() then return 'gone' end
local next_due
for _, name in ipairs({ 'ready', 'retry' }) do
  local first = call('ZRANGE', key(name), 0, 0, 'WITHSCORES')
  if first[1] then next_due = math.min(next_due or math.huge, tonumber(first[2])) end
end
local state = call('HMGET', key('state'), 'paused', 'stopped')
return {
  call('HGETALL', key('count')),
  call('ZCARD', key('leases')),
  call('ZCARD', key('ready')),
  call('ZCOUNT', key('ready'), '(' .. string.format('%.0f', NOW), '+inf'),
  next_due and math.max(next_due - NOW, 0) or -1,
  state[1],
  state[2],
}
