-- Let a lease last longer. ARGV: id, token, worker, lease ms. Answers 1, or 0 when the lease is another's or over.

if not known() then return 'gone' end
if call('HGET', key('lease'), ARGV[1]) ~= ARGV[2] .. '\n' .. ARGV[3] then return 0 end
call('ZADD', key('leases'), NOW + tonumber(ARGV[4]), ARGV[1])
return 1
