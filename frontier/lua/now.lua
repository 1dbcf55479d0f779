-- Visit URLs before all others. ARGV: for each URL: id, place in the seen test, host, priority * 256 + depth, JSON. Returns
-- for each 1 (queued), 2 (was queued or rested, and comes earlier now) or 0 (is being visited). Returns '' and changes
-- nothing when the job is finished.

if not known() then return 'gone' end
if call('HEXISTS', key('state'), 'finished') == 1 then return '' end
local answers = {}
for at = 1, #ARGV, 5 do
  local id, host = ARGV[at], ARGV[at + 2]
  local answer = 1
  if note_seen(id, ARGV[at + 1]) ~= 1 and call('HEXISTS', key('u'), id) == 0 then
    mark_unspilled(id)
  end
  if call('ZSCORE', key('leases'), id) then
    answer = 0
  else
    local record, _, before = read_url(id)
    if record then
      answer = 2
      if call('ZREM', key('retry'), id) == 1 then
        count('queued', -1)
      elseif call('ZREM', key('q:' .. before), id) == 1 then
        count(is_aside(before) and 'excluded' or 'queued', -1)
      end
    end
    call('ZREM', key('due'), id)
    forget_ending(id)
    local sequence = call('HINCRBY', COUNT, 'sequence', 1)
    local score = string.format('%.0f', tonumber(ARGV[at + 3]) * 2 ^ 40 + sequence)
    call('HSET', key('u'), id, host .. '\n' .. score .. '\n' .. ARGV[at + 4])
    enqueue(id, host, score)
  end
  answers[#answers + 1] = answer
end
return answers
