-- Note candidates that were not taken in. ARGV: number of reasons, then reason and count for each, then the links
-- themselves as JSON.

local MOST = 10000 -- rejected links kept

if not known() then return 'gone' end
local reasons = tonumber(ARGV[1])
for number = 1, reasons do count('r:' .. ARGV[2 * number], ARGV[2 * number + 1]) end
for at = 2 * reasons + 2, #ARGV do call('LPUSH', key('rejected'), ARGV[at]) end
if #ARGV > 2 * reasons + 1 then call('LTRIM', key('rejected'), 0, MOST - 1) end
return 1
