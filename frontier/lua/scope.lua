-- Add prefixes of seeds to the scope, and an entry to the list of its changes. Workers see with their next claim that this
-- list grew. ARGV: the entry, then for each prefix the name of its set, and its number. Returns the number
-- of new prefixes. When there are prefixes and none is new, the list stays as it is.

if not known(own) then return 'gone' end
local new = 0
for at = 2, #ARGV, 2 do new = new + call('SADD', own[ARGV[at]], ARGV[at + 1]) end
if new > 0 or #ARGV == 1 then call('HSET', own.state, 'scope', call('RPUSH', own.scope, ARGV[1])) end
return new
