-- Take over in one shard of a job what is known of the whole job. ARGV: what the other shards have counted (URLs that
-- are done, URLs that were fetched along, documents, bytes, current visits), then names and values of fields of the
-- state ('' for a field that is not set).

if not known(own) then return 'gone' end
call('HSET', own.state, 'others', ARGV[1])
for at = 2, #ARGV, 2 do
  if (call('HGET', own.state, ARGV[at]) or '') ~= ARGV[at + 1] then
    take_limits(own, 2)
    break
  end
end
-- The working time goes on in a shard from which nobody claims.
local state = call('HMGET', own.state, 'paused', 'held', 'seconds')
if state[3] then worked_seconds(own, state[1] or state[2]) end
return 1
