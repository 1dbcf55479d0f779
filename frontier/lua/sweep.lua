-- Take back expired leases. ARGV: max retries; to take back all leases, 1 and the ms for which their hosts rest, else 0
-- and 0. Returns their number.

if not known(own) then return 'gone' end
return sweep(own, ARGV[2] == '1' and '+inf' or NOW, 1000, tonumber(ARGV[1]), tonumber(ARGV[3]))
