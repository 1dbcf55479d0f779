-- Mark URLs as seen. ARGV: id and place in the seen test for each URL. Returns the number of URLs that were new.

local marked = 0
for at = 1, #ARGV, 2 do
  if note_seen(ARGV[at], ARGV[at + 1]) == 1 then marked = marked + 1 end
end
return marked
