-- Queue URLs again that were ended since the quota of their seed was reached. ARGV: the largest number of URLs. Returns the
-- number of URLs that were looked at.

if not known(own) then return 'gone' end
local ids = call('SPOP', own.retired, ARGV[1])
for _, id in ipairs(ids) do
  local ended = call('HGET', own.ended, id)
  local ending, code, host, score, json = string.match(ended or '', '^([^\n]*)\n([^\n]*)\n([^\n]+)\n(%d+)\n(.*)$')
  if ending == 'excluded' and code == QUOTA then
    forget_ending(own, id)
    call('HSET', own.u, id, host .. '\n' .. score .. '\n' .. json)
    enqueue(own, id, host, score)
  end
end
return #ids
