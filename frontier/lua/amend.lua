-- Replace the JSON of the job, if nothing has changed it since it was read. ARGV: the JSON that was read, the new JSON, the
-- number of edits of the profile, the edits as JSON, then names and values of all limits when the profile was edited. Workers
-- read the job again when the list 'scope' has a further entry '='.

if not known() then return 'gone' end
if call('GET', ROOT) ~= ARGV[1] then return 0 end
call('SET', ROOT, ARGV[2])
local edits = tonumber(ARGV[3])
for at = 4, 3 + edits do call('RPUSH', key('edits'), ARGV[at]) end
if edits > 0 then
  call('HSET', key('state'), 'scope', call('RPUSH', key('scope'), '='))
  take_limits(4 + edits)
end
return 1
