-- Add the links of a page and count those that are rejected, in one step. ARGV: the time at which the job was opened, as
-- the caller knows it, if the caller left out links that it knows, else ''; the number of arguments for add.lua; these
-- arguments; and the arguments for reject.lua, without the links that add.lua finds to be seen.
-- Returns the time at which the job was opened, and the answers of add.lua. Returns the time alone and changes nothing
-- when the caller knows another one. Returns '' and changes nothing in the cases of add.lua.

local opened = call('HGET', key('state'), 'opened')
if not opened then return 'gone' end
if ARGV[1] ~= '' and ARGV[1] ~= opened then return { opened } end
local last = 2 + tonumber(ARGV[2])
local answers = add({ unpack(ARGV, 3, last) })
if type(answers) ~= 'table' then return answers end
local seen = 0
for _, answer in ipairs(answers) do seen = seen + 1 - answer end
if seen > 0 then count('r:seen', seen) end
if #ARGV > last then reject({ unpack(ARGV, last + 1) }) end
return { opened, answers }
