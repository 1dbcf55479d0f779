-- Visit URLs before all others. ARGV: for each URL: id, place in the seen test, host, priority * 256 + depth, JSON. Returns
-- for each 1 (queued), 2 (was queued or rested, and comes earlier now) or 0 (is being visited). Returns '' and changes
-- nothing when the job is finished.

if not known(own) then return 'gone' end
if call('HEXISTS', own.state, 'finished') == 1 then return '' end
local answers = {}
for at = 1, #ARGV, 5 do
  local id, host = ARGV[at], ARGV[at + 2]
  local answer = 1
  if note_seen(own, id, ARGV[at + 1]) ~= 1 and call('HEXISTS', own.u, id) == 0 then
    mark_unspilled(own, id)
    forget_render(own, id, ARGV[at + 1])
  end
  if call('ZSCORE', own.leases, id) then
    answer = 0
  else
    local record, _, before = read_url(own, id)
    if record then
      answer = 2
      if call('ZREM', own.retry, id) == 1 then
        count(own, 'queued', -1)
      elseif call('ZREM', queue_of(own, before), id) == 1 then
        count(own, is_aside(own, before) and 'excluded' or 'queued', -1)
      end
    end
    call('ZREM', own.due, id)
    forget_ending(own, id)
    local sequence = call('HINCRBY', own.count, 'sequence', 1)
    local score = string.format('%.0f', tonumber(ARGV[at + 3]) * 2 ^ 40 + sequence)
    call('HSET', own.u, id, host .. '\n' .. score .. '\n' .. ARGV[at + 4])
    enqueue(own, id, host, score)
  end
  answers[#answers + 1] = answer
end
return answers
