-- Store amounts that are counted elsewhere, and look again which quotas are reached. ARGV: for each owner: owner and
-- name on a line each, then a kind ('' to look again alone, a '+' in front for what the other shards have counted), and
-- the amount so far. Returns 1 for each owner that has reached a quota, else 0.

if not known(own) then return 'gone' end
local quotas = cjson.decode(call('HGET', own.state, 'quotas') or '{}')
local answers = {}
for at = 1, #ARGV, 3 do
  local name, reached = ARGV[at], nil
  if ARGV[at + 1] ~= '' then call('HSET', own.used, name .. '\n' .. ARGV[at + 1], ARGV[at + 2]) end
  local owner = string.match(name, '^(%a+)\n')
  for kind, most in pairs(quotas[owner] or {}) do
    local found = call('HMGET', own.used, name .. '\n' .. kind, name .. '\n+' .. kind)
    local used = tonumber(found[1] or 0) + tonumber(found[2] or 0)
    if kind == 'seconds' then most = 1000 * most end
    if used >= most then reached = 'limit-' .. owner .. '-' .. kind end
  end
  if reached then
    call('HSET', own.spent, name, reached)
  else
    call('HDEL', own.spent, name)
  end
  answers[#answers + 1] = reached and 1 or 0
end
return answers
