-- Forgets every original of a hash whose record is in one of these files. Returns how many were forgotten.
-- KEYS: the hash. ARGV: keys of the files, 8 bytes each.
local gone = {}
for _, key in ipairs(ARGV) do
  gone[key] = true
end
local known = redis.call('HGETALL', KEYS[1])
local forgotten = 0
for place = 1, #known, 2 do
  local packed = known[place + 1]
  if string.byte(packed, 1) == 255 and gone[string.sub(packed, 2, 9)] then
    forgotten = forgotten + redis.call('HDEL', KEYS[1], known[place])
  end
end
return forgotten
