-- Add candidates. ARGV: id, token and worker of the lease that found them (three times '' for none; '', '' and 'operator'
-- for seeds that are added to a running job; '', '' and 'seeds' for the seeds of the job's file), then for each candidate:
-- id, place in the seen test, host, priority * 256 + depth, JSON, 1 to visit it again, its URL if it is a seed.
-- The seeds of the job were marked as seen before its first visit, so that no page queues one of them as a link. They
-- are new when they have no report.
-- Returns 1, 0 (seen) or 2 (perhaps seen) for each candidate. Returns '' and changes nothing when the lease is over or
-- another's, or when an operator adds to a finished job.

if not known(own) then return 'gone' end
if ARGV[3] == 'operator' and call('HEXISTS', own.state, 'finished') == 1 then return '' end
local holder = ARGV[2] .. '\n' .. ARGV[3]
if ARGV[1] ~= '' and call('HGET', own.lease, ARGV[1]) ~= holder then
  if call('HGET', renders_of(own).lease, ARGV[1]) ~= holder then return '' end -- a render may add links, too
end

-- Return 1 for a candidate that may be queued: it is new, or it is to be visited again and is not queued yet.
local function admitted(id, place, force)
  local answer = note_seen(own, id, place)
  if answer == 1 or not force then return answer end
  if call('HEXISTS', own.u, id) == 1 then return 0 end
  mark_unspilled(own, id)
  forget_render(own, id, place)
  forget_ending(own, id)
  return 1
end

local wanted = math.floor((#ARGV - 3) / 7)
local is_of_file = ARGV[3] == 'seeds'
local sequence = wanted > 0 and call('HINCRBY', own.count, 'sequence', wanted) - wanted or 0
local longest = wanted > 0 and longest_queue(own) or 0
local answers = {}
for number = 1, wanted do
  local at = 3 + (number - 1) * 7
  local id, host, seed = ARGV[at + 1], ARGV[at + 3], ARGV[at + 7]
  local is_first = seed ~= '' and call('HSETNX', own.seeds, id, 'queued\n0\n\n' .. seed) == 1
  answers[number] = admitted(id, ARGV[at + 2], ARGV[at + 6] == '1' or is_of_file and is_first)
  if answers[number] == 1 then
    local score = string.format('%.0f', tonumber(ARGV[at + 4]) * 2 ^ 40 + sequence + number)
    call('HSET', own.u, id, host .. '\n' .. score .. '\n' .. ARGV[at + 5])
    enqueue(own, id, host, score, is_of_file and sequence + number)
    note_length(own, host, sequence + number, longest)
  end
end
return answers
