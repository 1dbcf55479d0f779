-- Replace the JSON of the job, if nothing has changed it since it was read. ARGV: the JSON that was read, the new JSON, '='
-- or '=scope' after an edit of the scope, the number of edits of the profile, the edits as JSON, then names and values of
-- all limits when the profile was edited. Workers read the job again when the list 'scope' has a further entry.

if not known(own) then return 'gone' end
if call('GET', own.root) ~= ARGV[1] then return 0 end
call('SET', own.root, ARGV[2])
local edits = tonumber(ARGV[4])
for at = 5, 4 + edits do call('RPUSH', own.edits, ARGV[at]) end
if edits > 0 then
  call('HSET', own.state, 'scope', call('RPUSH', own.scope, ARGV[3]))
  if ARGV[3] ~= '=' then call('HINCRBY', own.state, 'unseen', 1) end -- workers forget links (links.lua)
  take_limits(own, 5 + edits)
end
return 1
