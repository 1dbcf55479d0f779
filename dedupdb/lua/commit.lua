-- Makes originals known, unless the payload has an original or a live claim of another writer. Returns how many became
-- known. KEYS: hash and claim key of each original. ARGV: writer, then field and packed original of each.
local known = 0
for kept = 1, #KEYS / 2 do
  local claim = redis.call('GET', KEYS[2 * kept])
  if not claim or claim == ARGV[1] then
    known = known + redis.call('HSETNX', KEYS[2 * kept - 1], ARGV[2 * kept], ARGV[2 * kept + 1])
    if claim then
      redis.call('DEL', KEYS[2 * kept])
    end
  end
end
return known
