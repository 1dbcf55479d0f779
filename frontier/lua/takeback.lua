-- Take back the leases of workers that are gone. ARGV: first part of their names, max retries, 1 if each lease counts as
-- a try, the ms for which their hosts rest. Returns the number of leases.

if not known(own) then return 'gone' end
local names, max_retries, counts, rest = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4])
local taken = 0
for _, id in ipairs(call('ZRANGE', own.leases, 0, -1)) do
  local worker = string.match(call('HGET', own.lease, id) or '', '\n(.*)$')
  if worker and string.sub(worker, 1, #names) == names then
    take_back(own, id, max_retries, counts, rest)
    taken = taken + 1
  end
end
return taken
