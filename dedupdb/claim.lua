-- Answers, for every want: the packed original if the bytes are known, 1 if they are now this writer's to keep,
-- 0 if another claim on them is alive.
-- KEYS: bucket and claim key of each want. ARGV: writer, claim's life in milliseconds, then the field of each want.
local answers = {}
for want = 1, #KEYS / 2 do
  local original = redis.call('HGET', KEYS[2 * want - 1], ARGV[want + 2])
  if original then
    answers[want] = original
  elseif redis.call('SET', KEYS[2 * want], ARGV[1], 'NX', 'PX', ARGV[2]) then
    answers[want] = 1
  else
    answers[want] = 0
  end
end
return answers
