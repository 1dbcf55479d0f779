-- Set further bits in a block of the Bloom filter of seen URLs. ARGV: number of the block, its bits.

if not known(own) then return 'gone' end
local block, further = own['bloom:' .. ARGV[1]], own['bloom:further']
call('SET', further, ARGV[2])
call('BITOP', 'OR', block, block, further)
call('DEL', further)
return 1
