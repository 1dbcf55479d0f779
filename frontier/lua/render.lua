-- Queue the render of a leased page, and leave its embeds to the render. ARGV: id, token and worker of the lease; place in
-- the seen test, host, priority * 256 + depth and JSON of the page; then for each embed: id, place in the seen test, host,
-- priority * 256 + depth, JSON. Returns 1, or 0 when the page was queued for a render before. Returns '' and changes
-- nothing when the lease is over or another's.

if not known(own) then return 'gone' end
local id, bucket, host, record = ARGV[1], string.match(ARGV[4], '%d+'), ARGV[5], ARGV[7]
if call('HGET', own.lease, id) ~= ARGV[2] .. '\n' .. ARGV[3] then return '' end
local renders = renders_of(own)
if call('SADD', renders['seen:' .. bucket], id) == 0 then
  -- A page that is visited again is rendered again.
  if call('HEXISTS', own.revisits, id) == 0 or call('HEXISTS', renders.u, id) == 1 then return 0 end
end

local held = {} -- the embeds that were not seen before
for at = 8, #ARGV, 5 do
  if note_seen(own, ARGV[at], ARGV[at + 1]) == 1 then
    held[#held + 1] = { ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4] }
  end
end

local sequence = call('HINCRBY', renders.count, 'sequence', 1)
local score = string.format('%.0f', tonumber(ARGV[6]) * 2 ^ 40 + sequence)
call('HSET', renders.u, id, host .. '\n' .. score .. '\n' .. record)
call('ZADD', renders.since, NOW, id)
if #held > 0 then call('HSET', renders.held, id, cmsgpack.pack(held)) end
enqueue(renders, id, host, score)
return 1
