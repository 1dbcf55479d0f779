-- Store the groups of hosts. ARGV: version of the groups by which they were looked up, then for each host: host, group
-- ('' for none), ms after which it is looked up again (0 for never). Returns 1; 0 and changes nothing when the groups of
-- the job have another version.

if not known(own) then return 'gone' end
local hosts = own.hostgroups
if call('HGET', own.state, 'groups') ~= ARGV[1] then return 0 end
for at = 2, #ARGV, 3 do
  local host, name, after = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local before = string.match(call('HGET', hosts, host) or '', '^' .. ARGV[1] .. '\n%d+\n(.*)$')
  if before and before ~= '' then call('HINCRBY', own.groups, 'h:' .. before, -1) end
  if name ~= '' then call('HINCRBY', own.groups, 'h:' .. name, 1) end
  call('HSET', hosts, host, string.format('%s\n%.0f\n%s', ARGV[1], after > 0 and NOW + after or 0, name))
  for _, job in ipairs({ own, renders_of(own) }) do
    -- The host was among the first ones, and is again. Otherwise all hosts would be looked up before the first visit.
    call('ZADD', job.ready, 'XX', (host_state(host)), host)
  end
end
return 1
