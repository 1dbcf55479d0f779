-- Forget that URLs were seen, so that they can be added again, once for each mark. ARGV: mark, then id and place in
-- the seen test for each URL. A URL that is queued or leased stays as it is. Returns the number of forgotten URLs.

if not known() then return 'gone' end
local forgotten = 0
for at = 2, #ARGV, 2 do
  local id = ARGV[at]
  if call('SADD', key('forced'), ARGV[1] .. ' ' .. id) == 1 and call('HEXISTS', key('u'), id) == 0 then
    mark_unspilled(id)
    forgotten = forgotten + forget_seen(id, ARGV[at + 1])
    forget_render(id, ARGV[at + 1])
    forget_ending(id)
  end
end
if forgotten > 0 then call('HINCRBY', key('state'), 'unseen', forgotten) end -- workers forget links (links.lua)
return forgotten
