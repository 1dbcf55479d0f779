-- Forget that URLs were seen, so that they can be added again, once for each mark. ARGV: mark, then id and place in
-- the seen test for each URL. A URL that is queued or leased stays as it is. Returns the number of forgotten URLs.

if not known(own) then return 'gone' end
local forgotten = 0
for at = 2, #ARGV, 2 do
  local id = ARGV[at]
  if call('SADD', own.forced, ARGV[1] .. ' ' .. id) == 1 and call('HEXISTS', own.u, id) == 0 then
    mark_unspilled(own, id)
    forgotten = forgotten + forget_seen(own, id, ARGV[at + 1])
    forget_render(own, id, ARGV[at + 1])
    forget_ending(own, id)
  end
end
if forgotten > 0 then call('HINCRBY', own.state, 'unseen', forgotten) end -- workers forget links (links.lua)
return forgotten
