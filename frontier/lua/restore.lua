-- Take in URLs with their state. ARGV for each URL: id, place in the seen test, host, priority * 256 + depth, JSON, state
-- (queued, failed, excluded or done), code, tries, ms until its next try, place in the order ('' for the last one).
-- Returns 1, 0 (seen) or 2 (perhaps seen) for each URL. Returns '' and changes nothing when the job is finished.

if not known() then return 'gone' end
if call('HEXISTS', key('state'), 'finished') == 1 then return '' end
local FIELDS = 10
local answers, longest = {}, longest_queue()
for number = 1, math.floor(#ARGV / FIELDS) do
  local at = (number - 1) * FIELDS
  local id, host, state, code = ARGV[at + 1], ARGV[at + 3], ARGV[at + 6], ARGV[at + 7]
  local tries, rest, order = tonumber(ARGV[at + 8]), tonumber(ARGV[at + 9]), tonumber(ARGV[at + 10])
  answers[number] = note_seen(id, ARGV[at + 2])
  if answers[number] == 1 then
    local last = tonumber(call('HGET', COUNT, 'sequence') or 0)
    order = order or last + 1
    if order > last then call('HSET', COUNT, 'sequence', string.format('%.0f', order)) end
    local score = string.format('%.0f', tonumber(ARGV[at + 4]) * 2 ^ 40 + order)
    local record = host .. '\n' .. score .. '\n' .. ARGV[at + 5]
    if state == 'queued' then
      call('HSET', key('u'), id, record)
      set_tries(id, tries, 0)
      if rest > 0 then
        call('ZADD', key('retry'), NOW + rest, id)
        count('queued', 1)
      else
        enqueue(id, host, score)
        note_length(host, number, longest)
      end
    else
      count(state, 1)
      count('c:' .. code, 1)
      if state ~= 'done' then call('HSET', key('ended'), id, state .. '\n' .. code .. '\n' .. record) end
    end
  end
end
return answers
