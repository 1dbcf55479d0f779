-- Carry out a command to the whole job. ARGV: pause, hold or stop, and the reason; or go-on, release or resume.
-- Returns 1 when this changed something.
-- An operator pauses a job and ends the pause. The disk watch holds a job and releases it.

if not known(own) then return 'gone' end
local state, what, why = own.state, ARGV[1], ARGV[2]

if what == 'pause' or what == 'hold' then
  local name = what == 'pause' and 'paused' or 'held'
  call('HSETNX', state, name .. '_at', NOW)
  return call('HSET', state, name, why)
end
if what == 'stop' then return call('HSET', state, 'stopped', why) end
if what == 'go-on' then return math.min(call('HDEL', state, 'paused', 'paused_at'), 1) end
if what == 'release' then return math.min(call('HDEL', state, 'held', 'held_at'), 1) end
return math.min(call('HDEL', state, 'paused', 'paused_at', 'stopped'), 1)
