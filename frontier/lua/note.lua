-- Put numbers into the small sets of one name, such as the seen set. ARGV: the name, then the bucket and the number for
-- each. Returns how many of them are new. A job that is gone gets no keys.

if not known() then return 0 end
local new = 0
for at = 2, #ARGV, 2 do new = new + call('SADD', key(ARGV[1] .. ':' .. ARGV[at]), ARGV[at + 1]) end
return new
