/**
 * Scripts of the registry. Each is one atomic step for all nodes and publishes its changes itself, so that nodes receive
 * them in order. All keys start with the prefix KEYS[1]:
 *
 *     rev               revision of the last change; never decreases, since nodes report the highest revision they know.
 *     born              time at which the registry started, in ms; the grace period starts here.
 *     seen              time of the last lease renewal of any node.
 *     nodes             sorted set: node → end of its lease in ms.
 *     addresses         hash: node → where the others reach it, with the secret that they prove themselves with.
 *     node:<node>       hash: session → its membership as ["office", "field"].
 *     offices           hash: office → revision of its last change.
 *     office:<office>   hash: "a" or "c<key of the name>" → hash of the reconnect key, a space, the member as JSON.
 *     at:<office>       hash: node → number of its members there.
 *     names             hash: name → number of Computers with this name.
 *     to:<node>         channel of a node.
 *
 * `formatInteger` formats numbers: Lua would write large ones with an exponent.
 */
const sharedFunctions = `
local prefix = KEYS[1]
local call = redis.call
local function formatInteger(n) return string.format('%.0f', n) end
local function now()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function age() return now() - tonumber(call('GET', prefix .. 'born') or '0') end
local function membershipOf(node, sid)
  local text = call('HGET', prefix .. 'node:' .. node, sid)
  if not text then return nil end
  local pair = cjson.decode(text)
  return { office = pair[1], field = pair[2] }
end
local function splitMember(value)
  local cut = string.find(value, ' ', 1, true)
  return string.sub(value, cut + 1), string.sub(value, 1, cut - 1)
end
local function count(key, field, by)
  local n = call('HINCRBY', prefix .. key, field, by)
  if n == 0 then call('HDEL', prefix .. key, field) end
  return n
end
local function makeChange(office, body)
  local from = call('HGET', prefix .. 'offices', office) or '0'
  local to = formatInteger(call('INCR', prefix .. 'rev'))
  local text = '{"office":' .. cjson.encode(office) .. ',"from":' .. from .. ',"to":' .. to .. ',' .. body(to) .. '}'
  return to, text
end
local function memberAt(office, field)
  local value = call('HGET', prefix .. 'office:' .. office, field)
  if not value then return nil end
  local text, reconnectKey = splitMember(value)
  return cjson.decode(text), reconnectKey
end
local function removeMember(node, sid, office, field, replaced, silent)
  local computer = field ~= 'a' and memberAt(office, field)
  call('HDEL', prefix .. 'office:' .. office, field)
  call('HDEL', prefix .. 'node:' .. node, sid)
  if computer then count('names', computer.seat.name, -1) end
  local to, text = makeChange(office, function()
    return '"left":{"sid":' .. cjson.encode(sid) .. ',"field":' .. cjson.encode(field) ..
      ',"replaced":' .. tostring(replaced) .. '}'
  end)
  for _, other in ipairs(call('HKEYS', prefix .. 'at:' .. office)) do
    if other ~= silent then call('PUBLISH', prefix .. 'to:' .. other, text) end
  end
  count('at:' .. office, node, -1)
  if call('EXISTS', prefix .. 'office:' .. office) == 1 then call('HSET', prefix .. 'offices', office, to)
  else call('HDEL', prefix .. 'offices', office) end
end
local function allMembers(office)
  local all = {}
  for i, value in ipairs(call('HVALS', prefix .. 'office:' .. office)) do all[i] = (splitMember(value)) end
  return all
end
local function addMember(node, sid, office, field, json, reconnectKey)
  local entered
  local to, text = makeChange(office, function(to)
    entered = '{"since":' .. to .. ',' .. string.sub(json, 2)
    return '"entered":' .. entered
  end)
  call('HSET', prefix .. 'office:' .. office, field, reconnectKey .. ' ' .. entered)
  call('HSET', prefix .. 'node:' .. node, sid, cjson.encode({ office, field }))
  call('HSET', prefix .. 'offices', office, to)
  if field ~= 'a' then count('names', cjson.decode(json).seat.name, 1) end
  local first = count('at:' .. office, node, 1) == 1
  for _, other in ipairs(call('HKEYS', prefix .. 'at:' .. office)) do
    if other ~= node or not first then call('PUBLISH', prefix .. 'to:' .. other, text) end
  end
  if first then
    call('PUBLISH', prefix .. 'to:' .. node, '{"office":' .. cjson.encode(office) .. ',"to":' .. to ..
      ',"all":[' .. table.concat(allMembers(office), ',') .. ']}')
  end
end
local function removeNode(node)
  local memberships = call('HGETALL', prefix .. 'node:' .. node)
  for i = 1, #memberships, 2 do
    local pair = cjson.decode(memberships[i + 1])
    removeMember(node, memberships[i], pair[1], pair[2], false, node)
  end
  call('DEL', prefix .. 'node:' .. node)
  call('ZREM', prefix .. 'nodes', node)
  call('HDEL', prefix .. 'addresses', node)
  for _, other in ipairs(call('ZRANGE', prefix .. 'nodes', 0, -1)) do
    call('PUBLISH', prefix .. 'to:' .. other, '{"gone":' .. cjson.encode(node) .. '}')
  end
end
`

export const luaScripts = {
  /**
   * ARGV: node, its address, lease in ms, highest revision, grace period in ms, n, n times session, office, field,
   * member and hash of the reconnect key, then sessions with a pending join. Adds the node and its members, except
   * where another session has the membership by now. Returns the remaining grace period in ms, the nodes, the
   * sessions that lost their membership, and the time.
   */
  reconcile: `${sharedFunctions}
local node, lease, highest, gracePeriod, n = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local rev = tonumber(call('GET', prefix .. 'rev') or '0')
if rev == 0 or rev < highest then
  call('SET', prefix .. 'rev', formatInteger(math.max(now(), highest)))
  call('SET', prefix .. 'born', formatInteger(now()))
end
call('ZADD', prefix .. 'nodes', formatInteger(now() + lease), node)
call('HSET', prefix .. 'addresses', node, ARGV[2])
local wanted, pending, at = {}, {}, 7
for _ = 1, n do
  wanted[ARGV[at]] = { office = ARGV[at + 1], field = ARGV[at + 2] }
  at = at + 5
end
for i = at, #ARGV do pending[ARGV[i]] = true end
local memberships = call('HGETALL', prefix .. 'node:' .. node)
for i = 1, #memberships, 2 do
  local sid, pair = memberships[i], cjson.decode(memberships[i + 1])
  local want = wanted[sid]
  if want and want.office == pair[1] and want.field == pair[2] then want.present = true
  elseif not pending[sid] then removeMember(node, sid, pair[1], pair[2], false) end
end
local evicted = {}
for i = 7, at - 1, 5 do
  local sid, office, field = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if not wanted[sid].present then
    if call('HEXISTS', prefix .. 'office:' .. office, field) == 1 then evicted[#evicted + 1] = sid
    else addMember(node, sid, office, field, ARGV[i + 3], ARGV[i + 4]) end
  end
end
return { math.max(0, gracePeriod - age()), call('ZRANGE', prefix .. 'nodes', 0, -1), evicted, now() }
`,

  /**
   * ARGV: node, lease in ms. Renews the lease and removes nodes with an expired lease. When no node has renewed for
   * half a lease, Redis itself was stalled: then expired leases are renewed. Returns "ok" or "unknown_node", the
   * nodes, and the time.
   */
  renew: `${sharedFunctions}
local node, lease = ARGV[1], tonumber(ARGV[2])
if not call('ZSCORE', prefix .. 'nodes', node) then return { 'unknown_node', {}, now() } end
local t = now()
call('ZADD', prefix .. 'nodes', formatInteger(t + lease), node)
local stalled = t - tonumber(call('GET', prefix .. 'seen') or '0') > lease / 2
call('SET', prefix .. 'seen', formatInteger(t))
for _, other in ipairs(call('ZRANGEBYSCORE', prefix .. 'nodes', '-inf', '(' .. formatInteger(t))) do
  if stalled then call('ZADD', prefix .. 'nodes', formatInteger(t + lease), other) else removeNode(other) end
end
return { 'ok', call('ZRANGE', prefix .. 'nodes', 0, -1), t }
`,

  /**
   * ARGV: node, session, office, field, name, member, hash of the reconnect key, maximum of offices, maximum of
   * members, time at which the request expires, "1" to replace a member of the same identity. Returns "joined",
   * "expired", "unknown_node", "office_full" or "too_many_offices"; or "taken" with the name of the current member and
   * the time of its join, which is empty for a member of an older node.
   */
  join: `${sharedFunctions}
local node, sid, office, field, name, json, reconnectKey = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if now() > tonumber(ARGV[10]) then return 'expired' end
if not call('ZSCORE', prefix .. 'nodes', node) then return 'unknown_node' end
local current = membershipOf(node, sid)
local old, key = memberAt(office, field)
if old and old.sid == sid and old.node == node then
  if old.seat.name == name then return 'joined' end
  -- An equivalent name, by an earlier join of the session that timed out: the session changes its name.
  old = nil
end
if old then
  local hasSameName, owner = old.seat.name == name, cjson.decode(json).owner
  local isSameMember = hasSameName and reconnectKey ~= '' and reconnectKey == key
  local isSameIdentity = owner and old.owner == owner and (owner ~= '' or hasSameName)
  if not isSameMember and not (ARGV[11] == '1' and isSameIdentity) then
    return { 'taken', old.seat.name, old.at and formatInteger(old.at) or '' }
  end
end
local size = call('HLEN', prefix .. 'office:' .. office)
if not old and size >= tonumber(ARGV[9]) then return 'office_full' end
if size == 0 then
  local freed = 0
  if current and call('HLEN', prefix .. 'office:' .. current.office) == 1 then freed = 1 end
  if call('HLEN', prefix .. 'offices') - freed >= tonumber(ARGV[8]) then return 'too_many_offices' end
end
if old then removeMember(old.node, old.sid, office, field, true) end
if current then removeMember(node, sid, current.office, current.field, false) end
addMember(node, sid, office, field, json, reconnectKey)
return 'joined'
`,

  /** ARGV: node, session. Removes the session from its office. */
  leave: `${sharedFunctions}
local here = membershipOf(ARGV[1], ARGV[2])
if here then removeMember(ARGV[1], ARGV[2], here.office, here.field, false) end
return 1
`,

  /** ARGV: node. Removes the node with all its members. */
  leaveCluster: `${sharedFunctions}
removeNode(ARGV[1])
return 1
`,

  /** ARGV: node. Returns its address, or an empty text. */
  addressOf: `${sharedFunctions}
return call('HGET', prefix .. 'addresses', ARGV[1]) or ''
`,

  /**
   * ARGV: node, office. Returns "ok", the current revision, the revision of the office, and its members. Returns
   * "unknown_node" when the node was removed, since then its members are missing.
   */
  snapshot: `${sharedFunctions}
if not call('ZSCORE', prefix .. 'nodes', ARGV[1]) then return { 'unknown_node', '0', '0', {} } end
local all = allMembers(ARGV[2])
return { 'ok', call('GET', prefix .. 'rev') or '0', call('HGET', prefix .. 'offices', ARGV[2]) or '0', all }
`,

  /** ARGV: office, field, name. Returns 1 when another office has a Computer of this name. */
  isComputerElsewhere: `${sharedFunctions}
local member = memberAt(ARGV[1], ARGV[2])
local here = member and member.seat.name == ARGV[3] and 1 or 0
local all = tonumber(call('HGET', prefix .. 'names', ARGV[3]) or '0')
if all > here then return 1 end
return 0
`,

  /** ARGV: offices. Returns 1 for each office with members, 0 for others. */
  areInUse: `${sharedFunctions}
local found = {}
for i, office in ipairs(ARGV) do found[i] = call('HEXISTS', prefix .. 'offices', office) end
return found
`
} as const
export type ScriptName = keyof typeof luaScripts
