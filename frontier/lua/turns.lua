-- Change how many visits at the same time the queue groups may have in this shard (frontier.group_turns). ARGV: number
-- of the step, version of the groups, then for each change: name, visits that the group may have here, 1 if its turn
-- begins now, ms of its delay that are left.
-- Returns for each group that has visits here, may have some, rests, or has hosts that wait: name, visits that it may
-- have, current visits, 1 if hosts wait, step in which its turn began, 1 if it had a visit since then, ms of its delay
-- that are left.
-- Returns 0 and changes nothing when a later step has been here, or when the groups have another version.

if not known(own) then return 'gone' end
local step, version = tonumber(ARGV[1]), ARGV[2]
local state = call('HMGET', own.state, 'turns', 'groups')
if step < tonumber(state[1] or 0) or state[2] ~= version then return 0 end
call('HSET', own.state, 'turns', step)
local queues = { own, renders_of(own) }

for at = 3, #ARGV, 4 do
  local name, most = ARGV[at], tonumber(ARGV[at + 1])
  local group = read_group(own, name)
  call('HSET', own.groups, 'p:' .. name, most)
  if ARGV[at + 2] == '1' then
    local due = math.max(group.due, NOW + tonumber(ARGV[at + 3]))
    local visited = call('HGET', own.groups, 'v:' .. name) or 0
    call('HSET', own.groups, 'b:' .. name, step .. ' ' .. visited, 'd:' .. name, due, 's:' .. name, NOW)
    group.due = due
  end
  if most > group.visits then
    for _, each in ipairs(queues) do call('ZADD', each.groupready, 'XX', group.due, name) end
  end
end

local waiting, values, answer = {}, {}, {}
for _, each in ipairs(queues) do
  for _, name in ipairs(call('ZRANGE', each.groupready, 0, -1)) do waiting[name] = true end
end
local fields = call('HGETALL', own.groups)
for at = 1, #fields, 2 do values[fields[at]] = fields[at + 1] end
for field in pairs(values) do
  local name = string.match(field, '^i:(.*)$')
  if name then
    local most, visits = tonumber(values['p:' .. name] or 0), tonumber(values['n:' .. name] or 0)
    -- A time of the last note after now shows that the clock was set back. Then the delay begins again now.
    local since = math.max(tonumber(values['s:' .. name] or 0), NOW)
    local rest = math.max(tonumber(values['d:' .. name] or 0) - since, 0)
    if waiting[name] or most > 0 or visits > 0 or rest > 0 then
      local begun, before = string.match(values['b:' .. name] or '', '^(%d+) (%d+)$')
      local has_visited = tonumber(values['v:' .. name] or 0) > tonumber(before or 0)
      answer[#answer + 1] = { name, most, visits, waiting[name] and 1 or 0, begun or 0, has_visited and 1 or 0, rest }
    end
  end
end
return answer
