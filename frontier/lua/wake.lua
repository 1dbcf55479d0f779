-- Take back some of the hosts and URLs whose limits and quotas are not reached any more. ARGV: how many owners of
-- quotas, hosts or URLs are looked at, about. Returns 1 as long as there are more. The place is in 'waking' of the
-- state, which the edit of a limit sets (take_limits), so that another process goes on where one has ended. The place
-- has no meaning for another server, which has the hosts in another order and begins with the first host again.

if not known(own) then return 'gone' end
local at, cursor, before = string.match(call('HGET', own.state, 'waking') or '', '^(%d+) (%d+) ?(%x*)$')
if not at then return 0 end
local server = run_id()
if before ~= server then cursor = '0' end
local parts = { { own, 'spent' } }
for _, name in ipairs({ 'aside', 'retired' }) do
  for _, job in ipairs({ own, renders_of(own) }) do parts[#parts + 1] = { job, name } end
end
local number = tonumber(at)
local job, name = unpack(parts[number])

if name == 'retired' then
  unretire({ ARGV[1] }, job)
  cursor = call('EXISTS', job.retired) == 1 and '1' or '0'
else
  local found = call('HSCAN', job[name], cursor, 'COUNT', ARGV[1])
  cursor = found[1]
  local owners = {}
  for place = 1, #found[2], 2 do
    local field, why = found[2][place], found[2][place + 1]
    if name == 'spent' then
      for _, part in ipairs({ field, '', 0 }) do owners[#owners + 1] = part end
    elseif string.sub(why, 1, 6) == 'limit-' then
      aside({ field, 'back' }, job)
    end
  end
  if owners[1] then used(owners, job) end
end

if cursor == '0' then number = number + 1 end
if number > #parts then
  call('HDEL', own.state, 'waking')
  return 0
end
call('HSET', own.state, 'waking', number .. ' ' .. cursor .. ' ' .. server)
return 1
