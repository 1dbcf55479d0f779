-- As claim.lua, for wants with buckets of their own: an original in any of them will do; else the claim is on all
-- buckets that the payload would fill, or on none.
-- KEYS: of each want, bucket and claim key of each bucket to fill, then each bucket that is only searched.
-- ARGV: writer, claim's life in milliseconds, then of each want its field and how many buckets it fills and searches.
local answers = {}
local at = 0
for want = 1, (#ARGV - 2) / 3 do
  local field, fills, searches = ARGV[3 * want], tonumber(ARGV[3 * want + 1]), tonumber(ARGV[3 * want + 2])
  local answer, held = false, false
  for place = 1, fills do
    answer = answer or redis.call('HGET', KEYS[at + 2 * place - 1], field)
    held = held or redis.call('EXISTS', KEYS[at + 2 * place]) == 1
  end
  for place = 1, searches do
    answer = answer or redis.call('HGET', KEYS[at + 2 * fills + place], field)
  end
  if not answer then
    answer = held and 0 or 1
    for place = 1, held and 0 or fills do
      redis.call('SET', KEYS[at + 2 * place], ARGV[1], 'PX', ARGV[2])
    end
  end
  answers[want] = answer
  at = at + 2 * fills + searches
end
return answers
