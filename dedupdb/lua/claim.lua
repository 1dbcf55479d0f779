-- Answers for each payload: its packed original if it is known, 1 if this writer has got the claim, 0 if another claim
-- is alive.
-- KEYS: hash and claim key of each payload. ARGV: writer, life of a claim in milliseconds, then the field of each
-- payload.
local answers = {}
for payload = 1, #KEYS / 2 do
  local original = redis.call('HGET', KEYS[2 * payload - 1], ARGV[payload + 2])
  if original then
    answers[payload] = original
  elseif redis.call('SET', KEYS[2 * payload], ARGV[1], 'NX', 'PX', ARGV[2]) then
    answers[payload] = 1
  else
    answers[payload] = 0
  end
end
return answers
