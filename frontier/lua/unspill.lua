-- Put URLs of a segment back into the queue of their host. ARGV: name of the file, number of its entries that were read
-- before, 1 if these are its last ones, then for each entry: id, score, tries, lost workers, record.
-- Or give up the rest of a segment whose file is lost. ARGV: name of the file.
-- Returns the number of URLs that were queued or ended, or are lost; -1 and changes nothing when Redis knows no such file,
-- or when another number of entries was read.

if not known(own) then return 'gone' end
local name, before = ARGV[1], tonumber(ARGV[2])
local kept = call('HGET', own.segments, name)
if not kept then return -1 end
local host, first, left, read, owner, stayed = string.match(kept, '^([^\n]+)\n(%d+)\n(%d+)\n(%d+)\n([^\n]*)\n([^\n]*)$')
left, read = tonumber(left), tonumber(read)
local waits_as = is_aside(own, host) and 'excluded' or 'queued'

-- Note that so many URLs of the host are in no segment any more.
local function note_back(number)
  if number == 0 then return end
  count(own, waits_as, -number)
  count(own, 'spilled', -number)
  if call('HINCRBY', own.spilled, host, -number) <= 0 then call('HDEL', own.spilled, host) end
end

-- Forget the file. Without any file, the marks of URLs that do not come back have no meaning.
local function drop_file()
  call('HDEL', own.segments, name)
  if call('EXISTS', own.segments) == 0 then call('DEL', own.unspilled) end
end

if not before then
  note_back(left)
  count(own, 'spill_lost', left)
  drop_file()
  return left
end
if read ~= before then return -1 end

local is_stayed = {}
for id in string.gmatch(stayed, '%S+') do is_stayed[id] = true end
local back, entries = 0, 0
for at = 4, #ARGV, 5 do
  entries = entries + 1
  local id, score, tries, lost, record = unpack(ARGV, at, at + 4)
  if not is_stayed[id] then
    back = back + 1
    local mark = call('HGET', own.unspilled, id)
    if mark then call('HDEL', own.unspilled, id) end
    local ending, code = string.match(mark or '', '^(%l+)\n(.+)$')
    local is_queued = call('HEXISTS', own.u, id) == 1
    if ending and not is_queued then
      end_queued(own, id, record, ending, code)
    elseif not mark and not is_queued then
      call('HSET', own.u, id, record)
      set_tries(own, id, tonumber(tries), tonumber(lost))
      enqueue(own, id, host, score)
    end
  end
end
note_back(back)
if ARGV[3] == '1' then
  drop_file()
else
  local values = { host, first, left - back, read + entries, owner, stayed }
  call('HSET', own.segments, name, table.concat(values, '\n'))
end
return back
