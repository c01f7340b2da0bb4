-- Hands out send slots to the members of a budget, one after the other. Times are in seconds by this server's clock.
-- KEYS[1]: JSON with the state and the members. ARGV[1]: JSON with a member's question and its observations since the last
-- one (`Ask` in server.rs). Replies with JSON (`Reply` in server.rs).
local FAR_AHEAD, LATE, SPARE, RECHECK = 0.04, 0.025, 0.01, 0.5
local INITIAL_RESERVE, STEP, RISE, FIRST_HOLD, HOLD, KEEP_FOR, SILENT = 2.5, 0.5, 0.1, 10, 60, 60, 10
local clock = redis.call("TIME")
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6
local key, ask = KEYS[1], cjson.decode(ARGV[1])
-- A field that is not reported is null.
for name, value in pairs(ask) do if value == cjson.null then ask[name] = nil end end

local function new(limit)
  return { updated = now, next = now, last = 0, pause = 0, lowered = now, named = now, roomy = 0, window = now,
    resets = 0, since = now, broke = 0, probe = 0, limit = limit, rate = math.max(limit - INITIAL_RESERVE, 1), number = 0, stretch = 0, blamed = 0,
    failures = 0, streak = 0, low = limit, counts = 0, left = 0, shift = 0, failed = 0, probes = 0 }
end
-- Returns whether a value has these numbers, each within a possible range. Other values are not ours.
local function is_ours(value, like)
  for name in pairs(like) do
    local n = type(value) == "table" and value[name]
    if type(n) ~= "number" or not (n >= 0 and n < 1e12) then return false end
  end
  return true
end
local is_json, kept = pcall(cjson.decode, redis.pcall("GET", key))
if not is_json or type(kept) ~= "table" then kept = {} end
local s, members, count = kept.state, type(kept.members) == "table" and kept.members or {}, 1
-- If the clock was set back by more than a second, the state starts again, as after a loss.
if not is_ours(s, new(1)) or s.limit < 1 or s.rate < 1 or s.rate > s.limit or s.updated > now + 1 then
  s, members = new(ask.limit), {}
end
now = math.max(now, s.updated)
for id, m in pairs(members) do
  local is_present = is_ours(m, { seen = 0, place = 0, wanted = 0 }) and now <= m.seen + SILENT
  if not is_present then members[id] = nil elseif id ~= ask.member then count = count + 1 end
end
-- An unknown member that recently received send slots got them from a state that was lost. Others may still have some.
local me, elapsed = members[ask.member] or { place = 0, wanted = 0 }, now - s.updated
if not members[ask.member] and ask.known then s.next = math.max(s.next, now + ask.known) end
s.updated, me.seen, me.about, members[ask.member] = now, now, ask.about, me

-- The rate: at most one request less than the limit, and lower if the service counts so strictly that this is too much.
local function rise(by, below) s.rate = math.max(s.rate, math.min(s.rate + by, s.limit - below)) end
local limit = math.max(math.min(ask.shown or s.limit, ask.limit), 1)
if limit < s.limit or limit > s.limit and now > s.named + FIRST_HOLD then
  s.limit, s.rate, s.roomy = limit, math.max(limit - INITIAL_RESERVE, 1), 0
end
if ask.shown and limit == s.limit then s.named = now end
local hold = s.failures > 0 and HOLD * 2 ^ math.min(s.failures - 1, 4) or FIRST_HOLD
if now > s.lowered + hold then rise(RISE * elapsed, now < s.roomy + KEEP_FOR and 1.5 or 2) end
-- A count shows how strictly the service counts if requests were sent evenly for a whole window before it.
local is_even = ask.remaining and ask.seen - s.stretch > s.limit
if is_even and ask.remaining >= s.limit / 2 then
  if s.roomy == 0 and s.failures == 0 then rise(1, 1.5) end
  s.roomy = now
end
if is_even then s.low, s.counts = math.min(s.low, ask.remaining), s.counts + 1 end
if now > s.window + 1 or ask.remaining and not is_even then
  if s.counts > 2 and s.low >= 5 and (is_even or not ask.remaining) then rise(math.min(0.2 * s.low, 3), 1) end
  s.window, s.low, s.counts = now, s.limit, 0
end
if ask.used_up and ask.used_up > s.blamed and now > s.lowered + 1 then
  local again = now < s.lowered + FIRST_HOLD and s.failures > 0
  s.failures, s.streak = s.failures + (again and 0 or 1), again and s.streak + 1 or 0
  s.rate = math.max(s.rate - STEP * 2 ^ math.min(math.max(s.streak - 1, 0), 4), 1)
  s.lowered, s.blamed = now, s.number
end
if ask.left then s.left, s.resets = math.max(ask.left - (s.number - ask.seen), 0), now + ask.resets end
if ask.pause then s.pause, s.stretch = math.max(s.pause, now + ask.pause), s.number end
-- Times from other members are trusted for a second, because they may be forged. A member that was asked to wait longer
-- does so on its own.
s.pause, s.resets, s.probe = math.min(s.pause, now + ask.max_wait), math.min(s.resets, now + ask.max_wait), math.min(s.probe, now + 8)

-- While requests fail in a row, one at a time probes the service, with growing intervals.
if ask.ok and now - ask.ok > s.broke then s.failed, s.probes = 0, 0 end
if ask.failed and s.failed == 0 then s.since = now - ask.ago end
if ask.failed then s.failed, s.broke = s.failed + ask.failed, now end
local gap, soonest, wanted = 1 / s.rate, math.max(now + ask.lead, s.pause), ask.slots
local function back_off()
  s.probe, s.probes = now + math.min(0.5 * 2 ^ s.probes, 8) * (0.5 + 0.5 * ask.random), s.probes + 1
end
local outage = s.failed >= 2
if outage and s.probes == 0 then back_off() end
if outage and now < s.probe then wanted = 0 end
if now < s.resets and s.left < 1 then soonest = math.max(soonest, s.resets) end

-- The send slots. Slots that are far ahead are only reserved until the member asks again. Single calls go before reserved
-- slots, which then move back. Background scans take what is left.
s.next = math.min(s.next, math.max(now, s.pause) + 1 + 8 * count * gap)
s.last = math.min(s.last, s.next)
local first, again, far = math.max(s.next, soonest), 0, math.max(FAR_AHEAD, 2 * ask.lead)
if first > s.next + gap then s.stretch = s.number end
if wanted < 1 then
  again = outage and math.min(s.probe, now + RECHECK) or first - ask.lead
elseif outage then
  first, wanted = soonest, 1
  back_off()
elseif ask.class == 1 then
  first = math.max(s.last + gap, soonest)
  if first < s.next then s.shift = s.shift + gap end
  s.next = math.max(s.next, first) + gap
elseif me.wanted > 0 and me.place + s.shift >= math.max(now - LATE, s.pause) then
  first, wanted = math.max(me.place + s.shift, soonest), me.wanted
elseif ask.class == 3 and s.next > soonest + SPARE then
  wanted, again = 0, math.max(first - ask.lead - SPARE, now + SPARE)
else
  s.next = first + wanted * gap
end
if wanted > 0 and first > soonest + far and ask.class > 1 then
  me.place, me.wanted, wanted, again = first - s.shift, wanted, 0, first - far
elseif wanted > 0 then
  s.last, me.wanted = math.max(s.last, first + (wanted - 1) * gap), 0
end
s.number, s.left = s.number + wanted, math.max(s.left - wanted, 0)

members[ask.member] = not ask.leaving and me or nil
redis.call("SET", key, cjson.encode({ state = s, members = members }), "PX", KEEP_FOR * 1000)
return cjson.encode({ now = now, slots = wanted, first = first, number = s.number - wanted + 1, again = again,
  pause = s.pause, members = count, rate = s.rate, failures = s.failed, since = s.since })
