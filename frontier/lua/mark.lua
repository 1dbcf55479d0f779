-- Mark URLs as seen. ARGV: id and place in the seen test for each URL. Returns the number of URLs that were new.
-- A job that is gone gets no keys.

if not known(own) then return 0 end
local marked = 0
for at = 1, #ARGV, 2 do
  if note_seen(own, ARGV[at], ARGV[at + 1]) == 1 then marked = marked + 1 end
end
return marked
