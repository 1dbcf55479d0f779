-- Take back leases. ARGV: max retries, 1 for all of them and not only those that ran out. Answers how many.

if not known() then return 'gone' end
return sweep(ARGV[2] == '1' and '+inf' or NOW, 1000, tonumber(ARGV[1]))
