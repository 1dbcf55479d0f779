-- Gives up this writer's claims, and no other's. KEYS: claim keys. ARGV: writer. Returns how many were given up.
local released = 0
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    released = released + redis.call('DEL', key)
  end
end
return released
