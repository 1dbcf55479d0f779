-- End leases and lease the next URLs in one step. ARGV: number of ended leases, then each of them as for finish.lua, then
-- the arguments for claim.lua. Returns the answers of both. The visits that ended are in the counts by which the job's
-- limits are checked.

local last = 1 + tonumber(ARGV[1])
local endings = finish({ unpack(ARGV, 2, last) }, own)
if endings == 'gone' then return endings end
store_changes()
local answer = claim({ unpack(ARGV, last + 1) }, own)
if answer == 'gone' then return answer end
return { endings, answer }
