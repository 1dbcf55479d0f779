-- Create the job or change its definition. ARGV: the JSON of the job as it was read ('' for none), its new JSON, the number
-- of shards over which its hosts are spread, then the names and values of its limits. Returns 0 and changes nothing when
-- another process changed the job first. Returns the name and the number of shards of an unfinished job that has another
-- number, since both jobs may visit one host, and the state of a host is in one slot. An empty new JSON changes nothing.
-- A stopped job continues, a paused job stays paused. Until the prefixes of its seeds are stored ('opening'), the job
-- hands out no URL. Until its seeds are queued ('seeding'), the job can't finish.

local before = call('GET', own.root)
if (before or '') ~= ARGV[1] then return 0 end
local shards, numbers = tonumber(ARGV[3] or 1), SHARD .. '=shards'
if shards > 1 or call('EXISTS', numbers) == 1 then
  for _, name in ipairs(call('SMEMBERS', JOBS)) do
    local number = tonumber(call('HGET', numbers, name) or 1)
    local other = job_at(SHARD .. name)
    local is_over = other ~= own and call('HEXISTS', other.state, 'finished') == 1
    if number ~= shards and not is_over then return name .. '\n' .. number end
  end
end
if ARGV[2] == '' then return 1 end
if shards > 1 then call('HSET', numbers, string.sub(own.root, #SHARD + 1), shards) end
call('SET', own.root, ARGV[2])
take_limits(own, 4)
call('HDEL', own.state, 'stopped', 'finished')
call('SADD', JOBS, string.sub(own.root, #SHARD + 1))
call('HSET', own.state, 'opened', NOW, 'opening', 1, 'seeding', 1, 'waking', '1 0')
return 1
