-- Gives out send slots of a shared budget: what budget/lease/reserve.rs, pace.rs and state.rs do in Rust, where
-- everything here is explained. A test holds the two against each other.
--
-- KEYS[1]: a hash with the fields "state", "granted", "shown" (pause and rate) and one per member: six numbers, and what
-- the member says of itself, which is for people only.
-- ARGV: member, limit, lane (1 single, 2 scan, 3 background), slots, lead, solo (0 no, 1 ready, 2 yes), leaving (0, 1),
-- count: sent, limit, remaining (empty if none), used up (empty if not), pause, what the member says of itself.
-- Times are microseconds. Replies with texts: now, slots, first, gap, again, pause, members, rate.

local clock = redis.call("TIME")
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

local SECOND, HORIZON, LONGEST_LEAD, MOST_SLOTS = 1000000, 100000, 600000, 4
local REMEMBERED, SILENT, GRACE, QUIET = 2500000, 10000000, 100000, 1000000
local SOLO_LASTS, HANDOVER, HANDOVER_POLL = 600000, 150000, 50000
local URGENT, SPARE, EARLY, LONGEST_WAIT, SHORTEST_WAIT = 60000, 10000, 8000, 1000000, 2000
local LEFT_ALONE, CAUTION, CAUTION_AT_FIRST, CAUTION_IN_WINDOWS, SLOWEST = 1, 1, 1.5, 0.5, 1
local MUCH_LEFT, MUCH_SPENT, BELIEVED = 0.5, 0.7, 60000000
local STEP, MOST_DOUBLINGS, SUCCESSION, FIRST_HOLD, HOLD = 0.5, 4, 10000000, 10000000, 60000000
local RAISE, ROOM, PART_OF_ROOM, MOST_RAISE, TELLING, WEIGHT, NOTICED = 0.1, 4, 0.2, 3, 0.5, 0.3, 3
local EXPIRES = 60000000

-- The state as it is written down: first what is a time, then what is not.
local TIMES = { "updated", "next", "pause", "lowered", "raised", "calm", "roomy", "blind", "window" }
local NUMBERS = { "limit", "cap", "streak", "failures", "others", "counts", "peak", "least" }

local key = KEYS[1]
local ask = {
  member = ARGV[1], limit = tonumber(ARGV[2]), lane = tonumber(ARGV[3]), slots = tonumber(ARGV[4]),
  lead = tonumber(ARGV[5]), solo = tonumber(ARGV[6]), leaving = ARGV[7] == "1",
  sent = tonumber(ARGV[8]), shown = tonumber(ARGV[9]), remaining = tonumber(ARGV[10]),
  used_up = tonumber(ARGV[11]), pause = tonumber(ARGV[12]), about = ARGV[13],
}

local s, granted, members = {}, {}, {}

local function numbers(text)
  local found = {}
  for number in string.gmatch(text or "", "%S+") do
    found[#found + 1] = tonumber(number)
  end
  return found
end

local function load()
  for _, name in ipairs(TIMES) do s[name] = 0 end
  for _, name in ipairs(NUMBERS) do s[name] = 0 end
  local fields = redis.call("HGETALL", key)
  for i = 1, #fields, 2 do
    local name, text = fields[i], fields[i + 1]
    local values, about = string.match(text, "^(%S+ %S+ %S+ %S+ %S+ %S+) (.*)$")
    if name == "state" then
      values = numbers(text)
      for n, field in ipairs(TIMES) do s[field] = values[n] or 0 end
      for n, field in ipairs(NUMBERS) do s[field] = values[#TIMES + n] or 0 end
    elseif name == "granted" then
      granted = numbers(text)
    elseif name ~= "shown" and values then
      values = numbers(values)
      if #values == 6 then
        members[name] = {
          seen = values[1], due = values[2], turn = values[3], lead = values[4], background = values[5] == 1,
          solo = values[6] == 1, about = about,
        }
      end
    end
  end
end

local function waits(m)
  return m.due > 0 and m.due + GRACE >= now
end

-- pace.rs

local function most()
  return math.max(s.limit - LEFT_ALONE, SLOWEST)
end

local function ceiling(at)
  local caution = at < s.roomy + BELIEVED and CAUTION_IN_WINDOWS or CAUTION
  return math.max(most() - caution, SLOWEST)
end

local function highest(at)
  if at < s.roomy + BELIEVED then return most() end
  return ceiling(at)
end

local function rate()
  local others = s.others >= NOTICED and s.others or 0
  return math.max(math.min(s.cap, most() - others), SLOWEST)
end

local function gap()
  return math.ceil(SECOND / rate())
end

local function start_window(at)
  s.window, s.counts, s.peak, s.least = at, 0, 0, s.limit
end

local function adopt(limit)
  if limit ~= s.limit then
    s.limit, s.roomy = limit, -BELIEVED
    s.cap, s.others = math.max(most() - CAUTION_AT_FIRST, SLOWEST), 0
    start_window(s.window)
  end
end

local function lower(sent)
  if sent <= s.lowered or now < s.lowered + SECOND then return end
  if now < s.lowered + SUCCESSION then
    s.streak = s.streak + 1
  else
    s.streak, s.failures = 0, s.failures + 1
  end
  local step = STEP * 2 ^ math.min(math.max(s.streak - 1, 0), MOST_DOUBLINGS)
  s.cap = math.max(rate() - step, SLOWEST)
  s.lowered, s.calm = now, now
end

local function try_rate(more, most)
  s.cap = math.max(math.min(s.cap + more, most), s.cap)
end

local function raise()
  local hold = FIRST_HOLD
  if s.failures > 0 then hold = HOLD * 2 ^ math.min(s.failures - 1, MOST_DOUBLINGS) end
  if now >= s.calm + hold then
    local since = (now - s.raised) / SECOND
    try_rate(RAISE * since, ceiling(now))
  end
  s.raised = now
end

local function seen(own)
  if ask.sent < s.blind then return end
  if ask.remaining >= MUCH_LEFT * s.limit and own >= MUCH_SPENT * s.limit then
    s.roomy = now
    if s.failures == 0 then s.cap = math.max(s.cap, ceiling(now)) end
  end
  s.peak = math.max(s.peak, s.limit - ask.remaining - own)
  if own >= MUCH_SPENT * rate() then
    s.least = math.min(s.least, ask.remaining)
    s.counts = s.counts + 1
  end
  if now < s.window + SECOND then return end
  s.others = s.others + WEIGHT * (s.peak - s.others)
  if s.counts >= TELLING * rate() then
    local room = s.least - LEFT_ALONE
    if room >= ROOM then try_rate(math.min(PART_OF_ROOM * room, MOST_RAISE), highest(now)) end
  end
  start_window(now)
end

local function take_up()
  if ask.shown then
    adopt(math.max(math.min(ask.shown, ask.limit), 1))
  elseif s.limit == 0 then
    adopt(math.max(ask.limit, 1))
  end
  raise()
  if ask.shown then
    local since, own = ask.sent - SECOND, 0
    for _, slot in ipairs(granted) do
      if slot > since and slot <= ask.sent then own = own + 1 end
    end
    seen(own)
  end
  if ask.used_up then lower(ask.used_up) end
  if ask.pause > 0 then s.pause = math.max(s.pause, now + ask.pause) end
end

-- state.rs

local function shift(by)
  for _, name in ipairs(TIMES) do
    if name ~= "updated" then s[name] = s[name] - by end
  end
  for n, slot in ipairs(granted) do granted[n] = slot - by end
  for _, m in pairs(members) do m.seen, m.due = m.seen - by, m.due - by end
end

local function advance()
  if s.updated == 0 then
    s.next, s.raised, s.calm, s.window = now + HORIZON, now, now, now
    s.blind = now + HORIZON + SECOND
  elseif now < s.updated then
    shift(s.updated - now)
  elseif now > s.updated + QUIET and next(members) then
    s.next = math.max(s.next, now + HORIZON)
  end
  local horizon = HORIZON + MOST_SLOTS * gap()
  if s.next > now + 2 * (horizon + LONGEST_LEAD) then s.next = now + horizon end
  s.updated = now
  local kept = {}
  for _, slot in ipairs(granted) do
    if slot + REMEMBERED > now then kept[#kept + 1] = slot end
  end
  granted = kept
  local silent = {}
  for id, m in pairs(members) do
    if m.seen + SILENT <= now then silent[#silent + 1] = id end
  end
  for _, id in ipairs(silent) do members[id] = nil end
end

-- reserve.rs

local function note()
  local least, blocked, others, background = math.huge, 0, false, ask.lane == 3
  for id, other in pairs(members) do
    if id ~= ask.member then
      others = true
      if waits(other) and other.background == background then least = math.min(least, other.turn) end
      if other.solo then blocked = math.max(blocked, other.seen + SOLO_LASTS) end
    end
  end
  local me = members[ask.member]
    or { seen = 0, due = 0, turn = 0, lead = 0, background = false, solo = false, about = "" }
  members[ask.member] = me
  if (not waits(me) or me.background ~= background) and least < math.huge then me.turn = math.max(me.turn, least) end
  me.seen, me.about, me.lead = now, ask.about, math.min(ask.lead, LONGEST_LEAD)
  me.solo = ask.solo ~= 0 and not others
  if ask.solo == 2 and others then
    s.next = math.max(s.next, now + me.lead + HANDOVER)
    s.blind = s.next + SECOND
  end
  return blocked
end

local function ahead()
  local background, me, count = ask.lane == 3, members[ask.member], 0
  for id, other in pairs(members) do
    if id ~= ask.member and waits(other) then
      if background and not other.background then
        count = count + 1
      elseif background == other.background then
        local first = id < ask.member and 1 or 0
        count = count + math.max(me.turn - other.turn + first, 0)
      end
    end
  end
  return count
end

local function grant(blocked, reply)
  local me = members[ask.member]
  local soonest, furthest = now + me.lead, me.lead
  local scans_wait = false
  for _, one in pairs(members) do
    if waits(one) then
      furthest = math.max(furthest, one.lead)
      if not one.background then scans_wait = true end
    end
  end
  local horizon = math.max(HORIZON, furthest + URGENT)
  local left_over = ask.lane == 3 and scans_wait
  local urgent = soonest + (left_over and SPARE or URGENT)
  local reach, before = now + 2 * horizon, 0
  if ask.lane == 2 then reach = now + horizon elseif ask.lane == 3 then reach = urgent end
  if ask.lane ~= 1 then before = ahead() end
  reach = math.max(reach, urgent)
  local start = math.max(s.next, soonest, s.pause)
  local early = left_over and 0 or EARLY
  local in_turn = start <= urgent or start + before * reply.gap <= reach + early
  if blocked <= now and start <= reach + early and in_turn then
    reply.slots = math.min(ask.slots, MOST_SLOTS)
    reply.first = start
    for _ = 1, reply.slots do
      granted[#granted + 1] = start
      start = start + reply.gap
    end
    s.next = start
    if ask.lane ~= 1 then
      me.turn = me.turn + reply.slots
      before = ahead()
    end
  end
  local again = start + before * reply.gap - (reach - now)
  if blocked > now then again = now + HANDOVER_POLL end
  reply.again = math.min(math.max(again, now + SHORTEST_WAIT), now + LONGEST_WAIT)
  if ask.lane ~= 1 then
    me.due, me.background = reply.again, ask.lane == 3
  end
end

local function save()
  local texts = {}
  for _, name in ipairs(TIMES) do texts[#texts + 1] = string.format("%.0f", s[name]) end
  for _, name in ipairs(NUMBERS) do texts[#texts + 1] = string.format("%.17g", s[name]) end
  local slots = {}
  for n, slot in ipairs(granted) do slots[n] = string.format("%.0f", slot) end
  redis.call("DEL", key)
  redis.call("HSET", key, "state", table.concat(texts, " "), "granted", table.concat(slots, " "))
  redis.call("HSET", key, "shown", string.format("%.0f %.17g", s.pause, rate()))
  for id, m in pairs(members) do
    local text = string.format("%.0f %.0f %.0f %.0f %d %d ", m.seen, m.due, m.turn, m.lead, m.background and 1 or 0,
      m.solo and 1 or 0)
    redis.call("HSET", key, id, text .. m.about)
  end
  local expires = math.max(s.pause - now, 0) + EXPIRES
  redis.call("PEXPIRE", key, string.format("%.0f", math.ceil(expires / 1000)))
end

load()
advance()
local reply = { slots = 0, first = 0, gap = 0, again = 0, pause = 0, members = 0, rate = 0 }
if ask.leaving then
  members[ask.member] = nil
else
  take_up()
  local blocked = note()
  for _ in pairs(members) do reply.members = reply.members + 1 end
  reply.gap, reply.rate, reply.pause = gap(), rate(), s.pause
  local solo = ask.solo ~= 0 and reply.members == 1
  if ask.slots > 0 and not solo then grant(blocked, reply) end
end
save()
local texts = {}
for _, value in ipairs({ now, reply.slots, reply.first, reply.gap, reply.again, reply.pause, reply.members }) do
  texts[#texts + 1] = string.format("%.0f", value)
end
texts[#texts + 1] = string.format("%.17g", reply.rate)
return texts
