-- Create the job or change its definition. ARGV: the JSON of the job as it was read ('' for none), its new JSON, then the
-- names and values of its limits. Returns 0 and changes nothing when another process changed the job first.
-- A stopped job continues, a paused job stays paused. Until the prefixes of its seeds are stored ('opening'), the job
-- hands out no URL. Until its seeds are queued ('seeding'), the job can't finish.

local before = call('GET', ROOT)
if (before or '') ~= ARGV[1] then return 0 end
call('SET', ROOT, ARGV[2])
take_limits(3)
call('HDEL', key('state'), 'stopped', 'finished')
call('SADD', JOBS, string.sub(ROOT, #SHARD + 1))
call('HSET', key('state'), 'opened', NOW, 'opening', 1, 'seeding', 1)
return 1
