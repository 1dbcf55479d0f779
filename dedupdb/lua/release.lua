-- Releases claims of this writer only. Returns how many were released. KEYS: claim keys. ARGV: writer.
local released = 0
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    released = released + redis.call('DEL', key)
  end
end
return released
