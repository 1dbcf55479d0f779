-- Adds to the counters of a job, once for each writer and serial: a writer that got no answer sends the same again.
-- The serials of a writer grow. KEYS: counters. ARGV: the writer's field, serial, then name and increment of each counter.
local last = redis.call('HGET', KEYS[1], ARGV[1])
if last and tonumber(last) >= tonumber(ARGV[2]) then
  return 0
end
for counter = 3, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[counter], ARGV[counter + 1])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
