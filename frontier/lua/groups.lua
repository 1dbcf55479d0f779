-- Replace the queue groups of the job. ARGV: version ('' for no groups), the groups as JSON, then for each group: name,
-- visits at the same time, delay in ms. In a job with several shards, the visits are 0 at first (turns.lua). Returns 1,
-- or 0 when the job has this version already. Visits that go on count for the group that they began in. Hosts that wait
-- for a group are checked again, and each host is looked up again.

if not known() then return 'gone' end
local version = ARGV[1]
if (call('HGET', key('state'), 'groups') or '') == version then return 0 end

for _, root in ipairs({ ROOT, ROOT .. RENDERS }) do
  local ready, parked = root .. ':ready', root .. ':parked'
  if call('EXISTS', parked) == 1 then
    call('ZUNIONSTORE', ready, 2, ready, parked, 'WEIGHTS', 1, 0, 'AGGREGATE', 'MAX')
  end
  call('DEL', parked, root .. ':groupready')
end

local fields = call('HKEYS', key('groups'))
local kept = {}
for at = 3, #ARGV, 3 do kept[ARGV[at]] = true end
for _, field in ipairs(fields) do
  local kind, name = string.match(field, '^(%a):(.*)$')
  if kind == 'i' or kind == 'p' or kind == 'w' or kind == 'h' then call('HDEL', key('groups'), field) end
  if (kind == 'v' or kind == 'b') and not kept[name] then call('HDEL', key('groups'), field) end
end
for at = 3, #ARGV, 3 do
  local name, number = ARGV[at], (at - 3) / 3
  call('HSET', key('groups'), 'i:' .. name, number, 'p:' .. name, ARGV[at + 1], 'w:' .. name, ARGV[at + 2])
  -- A shorter delay holds at once.
  local rest = call('HGET', key('groups'), 'd:' .. name)
  if rest then call('HSET', key('groups'), 'd:' .. name, math.min(tonumber(rest), NOW + tonumber(ARGV[at + 2]))) end
end
call('DEL', key('hostgroups'))
if version == '' then
  call('HDEL', key('state'), 'groups')
  call('DEL', key('groupdef'))
else
  call('HSET', key('state'), 'groups', version)
  call('SET', key('groupdef'), ARGV[2])
end
return 1
