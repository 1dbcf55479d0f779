-- Make the job, or change what may be changed of it. ARGV: the job as it was read ('' for none) and as it shall be,
-- both JSON, then names and values of its limits. Answers 0, changing nothing, when somebody else was quicker.
-- A job that was stopped goes on; one that was paused stays so. Until its seeds are in ('opening'), nothing is handed out or finished.

local before = call('GET', ROOT)
if (before or '') ~= ARGV[1] then return 0 end
call('SET', ROOT, ARGV[2])
for at = 3, #ARGV, 2 do
  if ARGV[at + 1] == '' then
    call('HDEL', key('state'), ARGV[at])
  else
    call('HSET', key('state'), ARGV[at], ARGV[at + 1])
  end
end
call('HDEL', key('state'), 'stopped')
call('HSET', key('state'), 'opened', NOW, 'opening', 1)
return 1
