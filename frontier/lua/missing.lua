-- Store what a folder of a site answers to a URL that does not exist. ARGV: kind and folder, answer.
-- Or read it. ARGV: kind and folder. Returns the answer; nothing for the one caller that has to ask the site; and an
-- empty text for all others until the answer is stored, or when there are too many folders.

if not known(own) then return 'gone' end
local folder = ARGV[1]
if ARGV[2] then
  call('HSET', own.missing, folder, ARGV[2])
  return 1
end
local kept = call('HGET', own.missing, folder)
if kept then return kept end
if call('HLEN', own.missing) >= 200000 then return '' end
call('HSET', own.missing, folder, '')
return nil
