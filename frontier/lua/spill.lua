-- Remove the last URLs of a host's queue, which are in a durable file, and register the file. ARGV: name of the file, host,
-- mark of the folder, place of the first URL, then for each URL in the file: id, and its score, tries and lost workers as
-- one text. A URL that has changed since it was written stays. Returns the number of URLs that were removed; 0 when none
-- was, so that the file has no meaning. A repeated call gets the first answer, which may have been lost.

if not known(own) then return 'gone' end
local name, host, owner, first = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local before = call('HGET', own.segments, name)
if before then return tonumber(string.match(before, '^[^\n]+\n%d+\n(%d+)\n')) end
local PART = 250 -- URLs in one call
local queue, removed, stayed = queue_of(own, host), 0, {}
for from = 5, #ARGV, 2 * PART do
  local ids, fields = {}, {}
  local last = math.min(from + 2 * PART - 2, #ARGV - 1)
  for at = from, last, 2 do
    local id = ARGV[at]
    ids[#ids + 1] = id
    fields[#fields + 1], fields[#fields + 2] = 't:' .. id, 'l:' .. id
  end
  local scores = call('ZMSCORE', queue, unpack(ids))
  local counts = call('HMGET', own.tries, unpack(fields))
  local marks = call('HMGET', own.unspilled, unpack(ids))
  for number, id in ipairs(ids) do
    local score, tries, lost = scores[number], counts[2 * number - 1] or 0, counts[2 * number] or 0
    local is_same = score and string.format('%.0f %s %s', tonumber(score), tries, lost) == ARGV[from + 2 * number - 1]
    if is_same and not marks[number] then
      call_later('ZREM', queue, id)
      forget_url(own, id)
      removed = removed + 1
    else
      stayed[#stayed + 1] = id
    end
  end
end
if removed == 0 then return 0 end
call('HSET', own.segments, name, table.concat({ host, first, removed, 0, owner, table.concat(stayed, ' ') }, '\n'))
add_to(own.spilled, host, removed)
count(own, 'spilled', removed)
store_changes()
if call('EXISTS', queue) == 0 then call('ZREM', own.ready, host) end
return removed
