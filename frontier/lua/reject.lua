-- Count and store rejected candidates. ARGV: number of reasons, then each reason with its count, then the links as JSON.

local MAX_KEPT = 10000 -- rejected links kept

if not known(own) then return 'gone' end
local reasons = tonumber(ARGV[1])
for number = 1, reasons do count(own, 'r:' .. ARGV[2 * number], ARGV[2 * number + 1]) end
for at = 2 * reasons + 2, #ARGV do call('LPUSH', own.rejected, ARGV[at]) end
if #ARGV > 2 * reasons + 1 then call('LTRIM', own.rejected, 0, MAX_KEPT - 1) end
return 1
