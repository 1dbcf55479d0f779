-- Extend a lease. ARGV: id, token, worker, lease ms, host; then, if robots.txt or a sheet asks for a longer delay than the
-- job, this delay in ms. Returns 1, or 0 when the lease is over or another's.

if not known(own) then return 'gone' end
if call('HGET', own.lease, ARGV[1]) ~= ARGV[2] .. '\n' .. ARGV[3] then return 0 end
call('ZADD', own.leases, NOW + tonumber(ARGV[4]), ARGV[1])
call('HSET', HOSTS .. ARGV[5], 's', NOW, 'l', NOW + tonumber(ARGV[4]))
if ARGV[6] then call('HSET', HOSTS .. ARGV[5], 'p', ARGV[6]) end
return 1
