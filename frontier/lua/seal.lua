-- Find the end of a job that is spread over several shards (frontier/shards.py has the argument). ARGV, in the first shard:
-- 'look' returns how many attempts were broken, -1 while the shard has work, -2 when the job is finished. 'break' breaks
-- the attempts that go on and returns 1, or 0 when the job is finished. 'end', the number of 'look', and 1 if another
-- shard has URLs beyond the limit of pages, returns 1 (finished), 2 (stopped at this limit) or 0 (try again). At this
-- limit, queued documents, seeds that wait in the file, and URLs that are due some time are beyond it and are no work.
-- In any other shard, 'seal' returns 1 and lets the shard take no URL of others, or 2 if it has such URLs, or 0 while it
-- has work.

if not known(own) then return 'gone' end
local state, what = own.state, ARGV[1]

local is_over = is_page_limit_reached(own)
local has_seeds = call('HEXISTS', state, 'seeding') == 1 -- seeds wait in the file
local has_due = call('HEXISTS', state, 'revisit') == 1 and call('EXISTS', own.due) == 1

local function has_work()
  for _, job in ipairs({ own, renders_of(own) }) do
    if call('EXISTS', job.ready, job.retry, job.leases, job.groupready) > 0 then return true end
  end
  if call('HEXISTS', state, 'waking') == 1 then return true end -- hosts and URLs are to be taken back
  return (has_seeds or has_due) and not is_over or awaits_segments(own)
end

local is_finished = call('HEXISTS', state, 'finished') == 1
if what == 'break' then
  if is_finished then return 0 end
  call('HINCRBY', state, 'broken', 1)
  return 1
end
if what == 'look' and is_finished then return -2 end
if has_work() then return what == 'look' and -1 or 0 end
local broken = tonumber(call('HGET', state, 'broken') or 0)
if what == 'look' then return broken end
local is_beyond = has_seeds or has_due or call('EXISTS', own.beyond) == 1
if what == 'end' then
  if broken ~= tonumber(ARGV[2]) then return 0 end
  if is_beyond or ARGV[3] == '1' then return 2 end
end
call('HSET', state, 'finished', NOW)
return is_beyond and 2 or 1
