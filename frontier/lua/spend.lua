-- Count a visit for the quotas of the job, and of the visit's host, domain and seed. ARGV: a visit as finish.lua has
-- it, its ending, its code. The amounts are in 'used', and the owners of quotas that are reached are in 'spent' with the
-- reason. The amounts that the other shards have counted for the job and its seeds are in 'used', too (used.lua). Seeds
-- that have used something since then are in 'recount'.

local visit, ending, code = ARGV[1], ARGV[2], ARGV[3]
local plain = own.plain
local quotas, others = unpack(call('HMGET', plain.state, 'quotas', 'others'))
if not quotas then return end
-- As for limits.urls, a URL counts that is done. The page of a render was counted when the plain crawler fetched it.
local urls = ending == 'done' and visit.urls or 0
if own.is_renders and ending ~= 'again' then urls = visit.urls - 1 end
local is_error = ending ~= 'again' and (ending == 'failed' or code >= 400)
local amounts = { urls = urls, bytes = visit.bytes, seconds = visit.duration_ms, errors = is_error and 1 or 0 }
local owners = { job = '', domain = visit.spender[1], host = visit.host, seed = visit.spender[2] }
for owner, bounds in pairs(cjson.decode(quotas)) do
  local name = owner .. '\n' .. owners[owner]
  for kind, most in pairs(bounds) do
    local amount = amounts[kind]
    if amount and amount > 0 and (owner ~= 'seed' or owners.seed ~= '') then
      local used = call('HINCRBY', plain.used, name .. '\n' .. kind, amount)
      if others and (owner == 'job' or owner == 'seed') then
        used = used + tonumber(call('HGET', plain.used, name .. '\n+' .. kind) or 0)
        if owner == 'seed' then call('SADD', plain.recount, name) end
      end
      if kind == 'seconds' then most = 1000 * most end
      if used >= most then call('HSET', plain.spent, name, 'limit-' .. owner .. '-' .. kind) end
    end
  end
end
