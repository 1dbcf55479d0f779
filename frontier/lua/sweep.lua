-- Take back expired leases. ARGV: max retries, 1 to take back all leases. Returns their number.

if not known(own) then return 'gone' end
return sweep(own, ARGV[2] == '1' and '+inf' or NOW, 1000, tonumber(ARGV[1]))
