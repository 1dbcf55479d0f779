-- Forgets originals whose records no longer exist. An entry that has another original by now stays. Returns how many
-- were forgotten. KEYS: the hash of each original. ARGV: for each, its field and the end of the packed original, from the
-- record id on.
local forgotten = 0
for place = 1, #KEYS do
  local known = redis.call('HGET', KEYS[place], ARGV[2 * place - 1])
  local ending = ARGV[2 * place]
  if known and string.sub(known, -#ending) == ending then
    forgotten = forgotten + redis.call('HDEL', KEYS[place], ARGV[2 * place - 1])
  end
end
return forgotten
