-- Adds to a job's counters, once for each (writer, serial) however often it is sent: a writer that got no answer may
-- ask again. A writer's serials grow. KEYS: counters. ARGV: writer's field, serial, then name and increment of each.
local last = redis.call('HGET', KEYS[1], ARGV[1])
if last and tonumber(last) >= tonumber(ARGV[2]) then
  return 0
end
for counter = 3, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[counter], ARGV[counter + 1])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
