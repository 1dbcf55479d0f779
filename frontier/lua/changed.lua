-- Bring URLs forward that a list says have changed. ARGV: shortest ms from a visit to the next one, then for each URL: id,
-- ms of its change. Returns the number of URLs that are due sooner now. A change that is not over yet, or was before the
-- last visit, counts for nothing.

if not known(own) then return 'gone' end
local least, shift, sooner = tonumber(ARGV[1]), due_shift(own), 0
for at = 2, #ARGV, 2 do
  local id, changed = ARGV[at], tonumber(ARGV[at + 1])
  local visited = tonumber(string.match(call('HGET', own.revisits, id) or '', '^%d+'))
  if visited and changed > visited and changed <= NOW then
    local due = call('ZSCORE', own.due, id)
    local earlier = math.max(visited + least, NOW) - shift
    if due and earlier < tonumber(due) then
      call('ZADD', own.due, earlier, id)
      sooner = sooner + 1
    end
  end
end
return sooner
