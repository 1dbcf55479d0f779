-- Extend a lease. ARGV: id, token, worker, lease ms, host. Returns 1, or 0 when the lease is over or another's.

if not known(own) then return 'gone' end
if call('HGET', own.lease, ARGV[1]) ~= ARGV[2] .. '\n' .. ARGV[3] then return 0 end
call('ZADD', own.leases, NOW + tonumber(ARGV[4]), ARGV[1])
call('HSET', HOSTS .. ARGV[5], 's', NOW, 'l', NOW + tonumber(ARGV[4]))
return 1
