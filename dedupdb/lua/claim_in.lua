-- Answers as claim.lua does, for payloads with several buckets. An original in any bucket is an answer. Otherwise the
-- claim is on all buckets that the payload fills, or on none.
-- KEYS: for each payload, hash and claim key of each bucket to fill, then the hash of each bucket that is only searched.
-- ARGV: writer, life of a claim in milliseconds, then for each payload its field and the numbers of buckets to fill and
-- to search.
local answers = {}
local at = 0
for payload = 1, (#ARGV - 2) / 3 do
  local field, fills, searches = ARGV[3 * payload], tonumber(ARGV[3 * payload + 1]), tonumber(ARGV[3 * payload + 2])
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
  answers[payload] = answer
  at = at + 2 * fills + searches
end
return answers
