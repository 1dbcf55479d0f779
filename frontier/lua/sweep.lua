-- Take back expired leases. ARGV: max retries; to take back all leases, the ms for which their hosts rest, else ''.
-- Returns their number.

if not known(own) then return 'gone' end
local rest = tonumber(ARGV[2])
return sweep(own, rest and '+inf' or NOW, 1000, tonumber(ARGV[1]), rest)
