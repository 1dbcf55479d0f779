-- Add the links of a page and count those that are rejected, in one step. ARGV: the stamp of the caller's memory of links
-- if the caller left out links that it knows, else ''; the number of arguments for add.lua; these arguments; and the
-- arguments for reject.lua, without the links that add.lua finds to be seen.
-- Returns the stamp, and the answers of add.lua. The first two words of the stamp change when the job is opened, and when
-- another server has the job, which may have lost links. The last word changes when URLs are no longer seen (forget.lua),
-- and when the scope was edited (amend.lua). Returns the stamp alone and changes nothing when the caller has another one.
-- Returns '' and changes nothing in the cases of add.lua.

local state = call('HMGET', own.state, 'opened', 'unseen')
if not state[1] then return 'gone' end
local stamp = state[1] .. ' ' .. run_id() .. ' ' .. (state[2] or '0')
if ARGV[1] ~= '' and ARGV[1] ~= stamp then return { stamp } end
local last = 2 + tonumber(ARGV[2])
local answers = add({ unpack(ARGV, 3, last) }, own)
if type(answers) ~= 'table' then return answers end
local seen, perhaps = 0, 0
for _, answer in ipairs(answers) do
  if answer == 0 then seen = seen + 1 elseif answer == 2 then perhaps = perhaps + 1 end
end
if seen > 0 then count(own, 'r:seen', seen) end
if perhaps > 0 then count(own, 'r:perhaps-seen', perhaps) end
if #ARGV > last then reject({ unpack(ARGV, last + 1) }, own) end
return { stamp, answers }
