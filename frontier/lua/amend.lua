-- Replace the JSON of the job, if nothing has changed it since it was read. ARGV: the JSON that was read, the new JSON,
-- then names and values of all limits when these change too.

if not known() then return 'gone' end
if call('GET', ROOT) ~= ARGV[1] then return 0 end
call('SET', ROOT, ARGV[2])
if ARGV[3] then take_limits(3) end
return 1
