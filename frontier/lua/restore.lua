-- Take in URLs with their state. ARGV for each URL: id, place in the seen test, host, priority * 256 + depth, JSON, state
-- (queued, failed, excluded or done), code, tries, ms until its next try, place in the order ('' for the last one).
-- Returns 1, 0 (seen) or 2 (perhaps seen) for each URL. Returns '' and changes nothing when the job is finished.

if not known(own) then return 'gone' end
if call('HEXISTS', own.state, 'finished') == 1 then return '' end
local FIELDS = 10
local answers, longest = {}, longest_queue(own)
for number = 1, math.floor(#ARGV / FIELDS) do
  local at = (number - 1) * FIELDS
  local id, host, state, code = ARGV[at + 1], ARGV[at + 3], ARGV[at + 6], ARGV[at + 7]
  local tries, rest, order = tonumber(ARGV[at + 8]), tonumber(ARGV[at + 9]), tonumber(ARGV[at + 10])
  answers[number] = note_seen(own, id, ARGV[at + 2])
  if answers[number] == 1 then
    local last = tonumber(call('HGET', own.count, 'sequence') or 0)
    order = order or last + 1
    if order > last then call('HSET', own.count, 'sequence', string.format('%.0f', order)) end
    local score = string.format('%.0f', tonumber(ARGV[at + 4]) * 2 ^ 40 + order)
    local record = host .. '\n' .. score .. '\n' .. ARGV[at + 5]
    if state == 'queued' then
      call('HSET', own.u, id, record)
      set_tries(own, id, tries, 0)
      if rest > 0 then
        call('ZADD', own.retry, NOW + rest, id)
        count(own, 'queued', 1)
      else
        enqueue(own, id, host, score)
        note_length(own, host, number, longest)
      end
    else
      count(own, state, 1)
      count(own, 'c:' .. code, 1)
      if state ~= 'done' then call('HSET', own.ended, id, state .. '\n' .. code .. '\n' .. record) end
    end
  end
end
return answers
