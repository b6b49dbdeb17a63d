/**
 * The registry's rules inside Redis. Each script is one atomic step for all nodes, and tells the nodes itself, so that
 * the order of what they hear is the order of what happened. Keys, all behind the prefix that is KEYS[1]:
 *
 *     rev               counts every change; it never goes back, since nodes bring along what they have seen
 *     born              when the registry began, in milliseconds: nodes get a moment to bring their members
 *     seen              when a node last renewed its lease
 *     nodes             sorted set: node → end of its lease in milliseconds
 *     node:<node>       hash: session → its seat, as ["office", "field"]
 *     offices           hash: office → revision of its last change
 *     office:<office>   hash: "a" or "c<name>" → what its holder is known by, a space, the member as JSON
 *     at:<office>       hash: node → how many members it has there
 *     names             hash: name → how many Computers bear it
 *     to:<node>         the channel on which a node listens
 *
 * Numbers are written by `whole`: Lua would write large ones with an exponent.
 */
const sharedFunctions = `
local P = KEYS[1]
local call = redis.call
local function whole(n) return string.format('%.0f', n) end
local function now()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function age() return now() - tonumber(call('GET', P .. 'born') or '0') end
local function seat(node, sid)
  local text = call('HGET', P .. 'node:' .. node, sid)
  if not text then return nil end
  local pair = cjson.decode(text)
  return { office = pair[1], field = pair[2] }
end
local function member(value)
  local cut = string.find(value, ' ', 1, true)
  return string.sub(value, cut + 1), string.sub(value, 1, cut - 1)
end
local function count(key, field, by)
  local n = call('HINCRBY', P .. key, field, by)
  if n == 0 then call('HDEL', P .. key, field) end
  return n
end
local function step(office, body)
  local from = call('HGET', P .. 'offices', office) or '0'
  local to = whole(call('INCR', P .. 'rev'))
  local text = '{"office":' .. cjson.encode(office) .. ',"from":' .. from .. ',"to":' .. to .. ',' .. body(to) .. '}'
  return to, text
end
local function vacate(node, sid, office, field, replaced, silent)
  call('HDEL', P .. 'office:' .. office, field)
  call('HDEL', P .. 'node:' .. node, sid)
  if field ~= 'a' then count('names', string.sub(field, 2), -1) end
  local to, text = step(office, function()
    return '"left":{"sid":' .. cjson.encode(sid) .. ',"field":' .. cjson.encode(field) ..
      ',"replaced":' .. tostring(replaced) .. '}'
  end)
  for _, other in ipairs(call('HKEYS', P .. 'at:' .. office)) do
    if other ~= silent then call('PUBLISH', P .. 'to:' .. other, text) end
  end
  count('at:' .. office, node, -1)
  if call('EXISTS', P .. 'office:' .. office) == 1 then call('HSET', P .. 'offices', office, to)
  else call('HDEL', P .. 'offices', office) end
end
local function everybody(office)
  local all = {}
  for i, value in ipairs(call('HVALS', P .. 'office:' .. office)) do all[i] = (member(value)) end
  return all
end
local function enter(node, sid, office, field, json, holder)
  local entered
  local to, text = step(office, function(to)
    entered = '{"since":' .. to .. ',' .. string.sub(json, 2)
    return '"entered":' .. entered
  end)
  call('HSET', P .. 'office:' .. office, field, holder .. ' ' .. entered)
  call('HSET', P .. 'node:' .. node, sid, cjson.encode({ office, field }))
  call('HSET', P .. 'offices', office, to)
  if field ~= 'a' then count('names', string.sub(field, 2), 1) end
  local first = count('at:' .. office, node, 1) == 1
  for _, other in ipairs(call('HKEYS', P .. 'at:' .. office)) do
    if other ~= node or not first then call('PUBLISH', P .. 'to:' .. other, text) end
  end
  if first then
    call('PUBLISH', P .. 'to:' .. node, '{"office":' .. cjson.encode(office) .. ',"to":' .. to ..
      ',"all":[' .. table.concat(everybody(office), ',') .. ']}')
  end
end
local function remove(node)
  local seats = call('HGETALL', P .. 'node:' .. node)
  for i = 1, #seats, 2 do
    local pair = cjson.decode(seats[i + 1])
    vacate(node, seats[i], pair[1], pair[2], false, node)
  end
  call('DEL', P .. 'node:' .. node)
  call('ZREM', P .. 'nodes', node)
  for _, other in ipairs(call('ZRANGE', P .. 'nodes', 0, -1)) do
    call('PUBLISH', P .. 'to:' .. other, '{"gone":' .. cjson.encode(node) .. '}')
  end
end
`

/**
 * ARGV: node, lease in ms, greatest revision it has seen, settling time in ms, n, then n times session, office, field,
 * member, holder; then sessions whose seat is just changing. Puts the node and its members in as they are, except where
 * somebody else sits by now. Gives how many ms the others still have to do the same, the number of nodes, the sessions
 * that have lost their seats, and the time.
 */
const reconcile = `${sharedFunctions}
local node, lease, highest, settle, n = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local rev = tonumber(call('GET', P .. 'rev') or '0')
if rev == 0 or rev < highest then
  call('SET', P .. 'rev', whole(math.max(now(), highest)))
  call('SET', P .. 'born', whole(now()))
end
call('ZADD', P .. 'nodes', whole(now() + lease), node)
local wanted, changing, at = {}, {}, 6
for _ = 1, n do
  wanted[ARGV[at]] = { office = ARGV[at + 1], field = ARGV[at + 2] }
  at = at + 5
end
for i = at, #ARGV do changing[ARGV[i]] = true end
local seats = call('HGETALL', P .. 'node:' .. node)
for i = 1, #seats, 2 do
  local sid, pair = seats[i], cjson.decode(seats[i + 1])
  local want = wanted[sid]
  if want and want.office == pair[1] and want.field == pair[2] then want.there = true
  elseif not changing[sid] then vacate(node, sid, pair[1], pair[2], false) end
end
local losers = {}
for i = 6, at - 1, 5 do
  local sid, office, field = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if not wanted[sid].there then
    if call('HEXISTS', P .. 'office:' .. office, field) == 1 then losers[#losers + 1] = sid
    else enter(node, sid, office, field, ARGV[i + 3], ARGV[i + 4]) end
  end
end
return { math.max(0, settle - age()), call('ZCARD', P .. 'nodes'), losers, now() }
`

/**
 * ARGV: node, lease in ms. Renews the lease, and removes the nodes whose lease has ended, unless nobody could renew for
 * a while: then it was Redis that stood still. Gives "gone" when the node itself has been removed, else "ok"; the number
 * of nodes; and the time.
 */
const renew = `${sharedFunctions}
local node, lease = ARGV[1], tonumber(ARGV[2])
if not call('ZSCORE', P .. 'nodes', node) then return { 'gone', 0, now() } end
local t = now()
call('ZADD', P .. 'nodes', whole(t + lease), node)
local still = t - tonumber(call('GET', P .. 'seen') or '0') > lease / 2
call('SET', P .. 'seen', whole(t))
for _, other in ipairs(call('ZRANGEBYSCORE', P .. 'nodes', '-inf', '(' .. whole(t))) do
  if still then call('ZADD', P .. 'nodes', whole(t + lease), other) else remove(other) end
end
return { 'ok', call('ZCARD', P .. 'nodes'), t }
`

/**
 * ARGV: node, session, office, field, name, member, holder, most offices, most members, the time after which nobody
 * waits for it any more. Gives "in", "late" when it is later, "gone" when the node is unknown, "taken", "office full",
 * "too many offices".
 */
const join = `${sharedFunctions}
local node, sid, office, field, name, json, holder = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if now() > tonumber(ARGV[10]) then return 'late' end
if not call('ZSCORE', P .. 'nodes', node) then return 'gone' end
local current = seat(node, sid)
if current and current.office == office and current.field == field then return 'in' end
local before = call('HGET', P .. 'office:' .. office, field)
local old
if before then
  local text, known = member(before)
  old = cjson.decode(text)
  if holder == '' or holder ~= known or old.seat.name ~= name then return 'taken' end
end
local size = call('HLEN', P .. 'office:' .. office)
if not old and size >= tonumber(ARGV[9]) then return 'office full' end
if size == 0 then
  local freed = 0
  if current and call('HLEN', P .. 'office:' .. current.office) == 1 then freed = 1 end
  if call('HLEN', P .. 'offices') - freed >= tonumber(ARGV[8]) then return 'too many offices' end
end
if old then vacate(old.node, old.sid, office, field, true) end
if current then vacate(node, sid, current.office, current.field, false) end
enter(node, sid, office, field, json, holder)
return 'in'
`

/** ARGV: node, session. Whatever seat it has is free. */
const leave = `${sharedFunctions}
local here = seat(ARGV[1], ARGV[2])
if here then vacate(ARGV[1], ARGV[2], here.office, here.field, false) end
return 1
`

/** ARGV: node. It goes with all its members. */
const depart = `${sharedFunctions}
remove(ARGV[1])
return 1
`

/**
 * ARGV: node, office. Gives "ok", the revision of everything, that of the office, and its members; "gone" when the node
 * itself has been removed, since then its members are missing.
 */
const snapshot = `${sharedFunctions}
if not call('ZSCORE', P .. 'nodes', ARGV[1]) then return { 'gone', '0', '0', {} } end
local all = everybody(ARGV[2])
return { 'ok', call('GET', P .. 'rev') or '0', call('HGET', P .. 'offices', ARGV[2]) or '0', all }
`

/** ARGV: office, name. Is there a Computer of this name in another office? */
const elsewhere = `${sharedFunctions}
local here = call('HEXISTS', P .. 'office:' .. ARGV[1], 'c' .. ARGV[2])
local all = tonumber(call('HGET', P .. 'names', ARGV[2]) or '0')
if all > here then return 1 end
return 0
`

/** All scripts by name. */
export const luaScripts = { reconcile, renew, join, leave, depart, snapshot, elsewhere } as const
export type ScriptName = keyof typeof luaScripts
