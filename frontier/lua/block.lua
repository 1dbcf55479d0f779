-- Set further bits in a block of the Bloom filter of seen URLs. ARGV: number of the block, its bits.

if not known() then return 'gone' end
local block, further = key('bloom:' .. ARGV[1]), key('bloom:further')
call('SET', further, ARGV[2])
call('BITOP', 'OR', block, block, further)
call('DEL', further)
return 1
