-- Replace the queue groups of the job. ARGV: version ('' for no groups), the groups as JSON, then for each group: name,
-- visits at the same time, delay in ms. In a job with several shards, the visits are 0 at first (turns.lua). Returns 1,
-- or 0 when the job has this version already. Visits that go on count for the group that they began in. Hosts that wait
-- for a group are checked again, and each host is looked up again.

if not known(own) then return 'gone' end
local version = ARGV[1]
if (call('HGET', own.state, 'groups') or '') == version then return 0 end

for _, job in ipairs({ own, renders_of(own) }) do
  if call('EXISTS', job.parked) == 1 then
    call('ZUNIONSTORE', job.ready, 2, job.ready, job.parked, 'WEIGHTS', 1, 0, 'AGGREGATE', 'MAX')
  end
  call('DEL', job.parked, job.groupready)
end

local fields = call('HKEYS', own.groups)
local kept = {}
for at = 3, #ARGV, 3 do kept[ARGV[at]] = true end
for _, field in ipairs(fields) do
  local kind, name = string.match(field, '^(%a):(.*)$')
  if kind == 'i' or kind == 'p' or kind == 'w' or kind == 'h' then call('HDEL', own.groups, field) end
  if (kind == 'v' or kind == 'b') and not kept[name] then call('HDEL', own.groups, field) end
end
for at = 3, #ARGV, 3 do
  local name, number = ARGV[at], (at - 3) / 3
  call('HSET', own.groups, 'i:' .. name, number, 'p:' .. name, ARGV[at + 1], 'w:' .. name, ARGV[at + 2])
  -- A shorter delay holds at once.
  local rest = call('HGET', own.groups, 'd:' .. name)
  if rest then call('HSET', own.groups, 'd:' .. name, math.min(tonumber(rest), NOW + tonumber(ARGV[at + 2]))) end
end
call('DEL', own.hostgroups)
if version == '' then
  call('HDEL', own.state, 'groups')
  call('DEL', own.groupdef)
else
  call('HSET', own.state, 'groups', version)
  call('SET', own.groupdef, ARGV[2])
end
return 1
