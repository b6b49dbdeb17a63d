import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import {
  agent,
  agentAndComputer,
  agentIn,
  assertDenied,
  assertRejected,
  bodiesOf,
  computer,
  computerIn,
  join,
  malformed,
  newsSince,
  settled
} from "./joinedMembers.ts"
import { computerUnderTest } from "./members.ts"
import { conform, type Peer } from "./World.ts"

const namesIn = Effect.fnUntraced(function* (peer: Peer, office: string) {
  const [answer] = yield* peer.request("server:list_room", { agent: "a", req_id: "r", office_id: office })
  return (answer as { sessions: ReadonlyArray<{ name: string }> }).sessions.map(({ name }) => name).sort()
})

describe("namespace and auth", () => {
  conform("cases 027, 028: connects with either role", (world) =>
    Effect.gen(function* () {
      assert.notStrictEqual((yield* agent(world)).sid(), (yield* computer(world)).sid())
    })
  )

  conform("cases 029, 035: connects without a role, which the join fixes", (world) =>
    Effect.gen(function* () {
      const peer = yield* world.connect({})
      assert.deepStrictEqual(yield* join(peer, "agent", "a", "O1"), [true, null])
      yield* peer.request("server:leave_office", { office_id: "O1" })
      assertDenied(yield* join(peer, "computer", "a", "O1"))
    })
  )

  conform(
    "case 029: requires a role where the Server does",
    (world) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip(world.connect({}))).code, 400)
        yield* agent(world)
      }),
    { requireRole: true }
  )

  conform("case 030: rejects an unknown role", (world) =>
    Effect.gen(function* () {
      for (const auth of [{ role: "server" }, { role: 1 }, { role: null }, "agent"]) {
        assert.strictEqual((yield* Effect.flip(world.connect({ auth }))).code, 400)
      }
    })
  )
})

describe("join under the name of an operator", () => {
  const names = [
    "operator:ann",
    "operator:",
    "OPERATOR:ann",
    "Operator:Ann",
    "operator :ann",
    "operator\uff1aann",
    "\uff4fperator:ann",
    "\u24deperator\ufe55ann"
  ]

  conform("is rejected with the reason, for both roles and every form of it", (world) =>
    Effect.gen(function* () {
      for (const name of names) {
        const reason = assertDenied(yield* join(yield* agent(world), "agent", name, "O1"))
        assert.include(reason, "must not begin with 'operator:'", name)
        assert.strictEqual(assertDenied(yield* join(yield* computer(world), "computer", name, "O1")), reason)
        assertDenied(yield* join(yield* world.connect({}), "agent", name, "O1"))
      }
      assert.deepStrictEqual(yield* namesIn(yield* agentIn(world, "O1"), "O1"), ["agent-1"])
    })
  )

  conform("is no reason against names that only contain it, or the word", (world) =>
    Effect.gen(function* () {
      for (const name of ["operator", "operators:ann", "my-operator:ann", "agent operator:ann", "operator-ann"]) {
        assert.deepStrictEqual(yield* join(yield* agent(world), "agent", name, name), [true, null])
        assert.deepStrictEqual(yield* join(yield* computer(world), "computer", name, name), [true, null])
      }
    })
  )

  conform("is announced as kept for operators to Computers that ask, in the acknowledgement of a join", (world) =>
    Effect.gen(function* () {
      const peer = yield* world.connect({ auth: { role: "computer", a2c_features: ["operator_names"] } })
      const kept = { a2c_features: ["operator_names"] }
      assert.deepStrictEqual(yield* join(peer, "computer", "pc", "O1"), [true, null, kept])
      // Again, and not with the rejection of another join, or a leave.
      assert.deepStrictEqual(yield* join(peer, "computer", "pc", "O1"), [true, null, kept])
      assertDenied(yield* join(peer, "computer", "other", "O1"))
      assert.deepStrictEqual(yield* peer.request("server:leave_office", { office_id: "O1" }), [true, null])
    })
  )
})

describe("join of a Computer", () => {
  conform("tells it that names of operators are proven", (world) =>
    Effect.gen(function* () {
      const member = yield* Effect.flatMap(computerUnderTest(world, {}), (joined) => joined.member)
      assert.isTrue(member?.provesOperators())
    })
  )
})

describe("join", () => {
  conform("case 036: acknowledges an Agent with exactly two values", (world) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* join(yield* agent(world), "agent", "agent-1", "O1"), [true, null])
    })
  )

  conform("cases 037, 038, 039: notifies the others, not the new member", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      assert.deepStrictEqual(yield* a1.receive("notify:enter_office"), { office_id: "O1", computer: "pc-1" })
      yield* a1.request("server:leave_office", { office_id: "O1" })
      yield* join(a1, "agent", "agent-1", "O1")
      assert.deepStrictEqual(yield* c1.receive("notify:enter_office"), { office_id: "O1", agent: "agent-1" })
      yield* settled([a1, c1])
      assert.strictEqual(bodiesOf(c1, "notify:enter_office").length, 1)
    })
  )

  conform("cases 040, 041: rejects a second Agent in the same office", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const a2 = yield* agent(world)
      assert.match(
        assertDenied(yield* join(a2, "agent", "agent-2", "O1")),
        /^Room already has an agent: office 'O1' has the Agent 'agent-1', connected since \d{4}-\d\d-\d\dT.*Z$/
      )
      yield* settled([a2], [a1])
      assert.deepStrictEqual(a1.received(), [])
      assert.deepStrictEqual(yield* namesIn(a1, "O1"), ["agent-1"])
      assert.deepStrictEqual(yield* join(a2, "agent", "agent-2", "O2"), [true, null])
    })
  )

  conform("cases 042, 047: accepts a repeated join without notifications", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      yield* settled([c1], [a1])
      const counts = [a1.received().length, c1.received().length] as const
      assert.deepStrictEqual(yield* join(a1, "agent", "agent-1", "O1"), [true, null])
      assert.deepStrictEqual(yield* join(c1, "computer", "pc-1", "O1"), [true, null])
      yield* settled([a1, c1])
      assert.deepStrictEqual([newsSince(a1, counts[0]), newsSince(c1, counts[1])], [[], []])
    })
  )

  conform("cases 043, 044: requires an Agent to leave before it joins another office", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      assertDenied(yield* join(a1, "agent", "agent-1", "O2"))
      yield* settled([a1], [c1])
      assert.deepStrictEqual(c1.received(), [])
      assert.deepStrictEqual(yield* namesIn(a1, "O1"), ["agent-1", "pc-1"])
      assert.deepStrictEqual(yield* a1.request("server:leave_office", { office_id: "O1" }), [true, null])
      assert.deepStrictEqual(yield* join(a1, "agent", "agent-1", "O2"), [true, null])
    })
  )

  conform("cases 045, 046, 097: moves a Computer that joins another office", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const a3 = yield* agentIn(world, "O2", "agent-3")
      const c1 = yield* computerIn(world, "O1")
      assert.deepStrictEqual(yield* join(c1, "computer", "pc-1", "O2"), [true, null])
      assert.deepStrictEqual(yield* a1.receive("notify:leave_office"), { office_id: "O1", computer: "pc-1" })
      assert.deepStrictEqual(yield* a3.receive("notify:enter_office"), { office_id: "O2", computer: "pc-1" })
      const request = { agent: "agent-1", req_id: "r", computer: "pc-1" }
      assertRejected(yield* a1.request("client:get_tools", request), 4104, 404)
      yield* c1.notify("server:update_desktop", { computer: "pc-1" })
      assert.deepStrictEqual(yield* a3.receive("notify:update_desktop"), { computer: "pc-1" })
      yield* settled([a1])
      assert.deepStrictEqual(bodiesOf(a1, "notify:update_desktop"), [])
    })
  )

  conform("cases 048, 049: requires unique names of Computers within an office", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* agentAndComputer(world, { tools: [], req_id: "first" })
      const other = yield* computer(world)
      assert.include(assertDenied(yield* join(other, "computer", "pc-1", "O1")), "already exists")
      yield* settled([other], [a1])
      assert.strictEqual(bodiesOf(a1, "notify:enter_office").length, 1)
      const request = { agent: "agent-1", req_id: "r", computer: "pc-1" }
      assert.deepStrictEqual(yield* a1.request("client:get_tools", request), [{ tools: [], req_id: "first" }])
      assert.deepStrictEqual(yield* join(other, "computer", "pc-1", "O2"), [true, null])
    })
  )

  conform("case 050: keeps a Computer in its office after a rejected join", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      yield* computerIn(world, "O2")
      assertDenied(yield* join(c1, "computer", "pc-1", "O2"))
      yield* settled([c1], [a1])
      assert.deepStrictEqual(bodiesOf(a1, "notify:leave_office"), [])
      assert.deepStrictEqual(yield* namesIn(a1, "O1"), ["agent-1", "pc-1"])
    })
  )

  conform("case 051: rejects another name in the same office", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      assertDenied(yield* join(c1, "computer", "pc-x", "O1"))
      assert.deepStrictEqual(yield* namesIn(a1, "O1"), ["agent-1", "pc-1"])
    })
  )

  conform("cases 052, 053: rejects a change of the role", (world) =>
    Effect.gen(function* () {
      assert.match(assertDenied(yield* join(yield* agent(world), "computer", "x", "O1")), /role/i)
      const a1 = yield* agentIn(world, "O1")
      yield* a1.request("server:leave_office", { office_id: "O1" })
      assertDenied(yield* join(a1, "computer", "agent-1", "O1"))
    })
  )

  conform("case 054: allows the same name for an Agent and a Computer", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1", "x")
      yield* computerIn(world, "O1", "x")
      assert.deepStrictEqual(yield* namesIn(a1, "O1"), ["x", "x"])
    })
  )

  conform("case 055: accepts exactly one of two racing Agents", (world) =>
    Effect.gen(function* () {
      for (let round = 0; round < 10; round++) {
        const agents = [yield* agent(world), yield* agent(world)]
        const answers = yield* Effect.forEach(agents, (one, index) => join(one, "agent", `a${index}`, `O${round}`), {
          concurrency: "unbounded"
        })
        const [winner, loser] = answers.toSorted(([one], [other]) => Number(other) - Number(one))
        assert.deepStrictEqual(winner, [true, null])
        assertDenied(loser ?? [])
      }
    })
  )

  conform("cases 056, 057, 058: rejects an invalid join with a reason", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computer(world)
      const good = { role: "computer", name: "pc-1", office_id: "O1" }
      const bad = [
        ...malformed,
        ...Object.keys(good).map((key) => [Object.fromEntries(Object.entries(good).filter(([k]) => k !== key))]),
        ...[{ name: "" }, { office_id: "" }, { name: 1 }, { office_id: {} }, { role: "Computer" }].map((change) => [
          { ...good, ...change }
        ])
      ]
      for (const payload of bad) assertDenied(yield* c1.request("server:join_office", ...payload))
      yield* settled([c1], [a1])
      assert.deepStrictEqual(a1.received(), [])
      assert.deepStrictEqual(yield* join(c1, "computer", "pc-1", "O1"), [true, null])
    })
  )

  conform("cases 059, 060: ignores extra fields, and works without an acknowledgement", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computer(world)
      const first = { role: "computer", name: "pc-1", office_id: "O1", extra: { x: 1 } }
      yield* c1.notify("server:join_office", first)
      assert.deepStrictEqual(yield* a1.receive("notify:enter_office"), { office_id: "O1", computer: "pc-1" })
      const c2 = yield* computer(world)
      const more = { role: "computer", name: "pc-2", office_id: "O1", extra: { x: 1 } }
      assert.deepStrictEqual(yield* c2.request("server:join_office", more), [true, null])
      assert.deepStrictEqual(yield* namesIn(a1, "O1"), ["agent-1", "pc-1", "pc-2"])
    })
  )

  conform("case 061: separates office ids from session ids", (world) =>
    Effect.gen(function* () {
      const bystander = yield* computer(world)
      const a1 = yield* agentIn(world, bystander.sid())
      yield* computerIn(world, bystander.sid())
      yield* settled([a1], [bystander])
      assert.deepStrictEqual(bystander.received(), [])
    })
  )

  conform("case 356: treats names with special meanings as plain texts", (world) =>
    Effect.gen(function* () {
      for (const name of ["__proto__", "constructor", "toString"]) {
        const a1 = yield* agentIn(world, name, name)
        const c1 = yield* computerIn(world, name, name)
        yield* c1.answers(() => Effect.succeed([{ tools: [], req_id: "r" }]))
        assert.deepStrictEqual(yield* a1.request("client:get_tools", { agent: name, req_id: "r", computer: name }), [
          { tools: [], req_id: "r" }
        ])
        assertRejected(yield* a1.request("client:get_tools", { agent: name, req_id: "r", computer: "valueOf" }), 404)
      }
      assert.notProperty({}, "role")
    })
  )

  conform("case 357: limits the length of names", (world) =>
    Effect.gen(function* () {
      const c1 = yield* computer(world)
      const long = "x".repeat(10_000)
      assertDenied(yield* join(c1, "computer", long, "O1"))
      assertDenied(yield* join(c1, "computer", "pc-1", long))
    })
  )

  conform("case 358: accepts names in any script", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "办公室", "🤖")
      const c1 = yield* computerIn(world, "办公室", "电脑-1")
      yield* c1.answers(() => Effect.succeed([{ tools: [], req_id: "r" }]))
      assert.deepStrictEqual(yield* a1.request("client:get_tools", { agent: "🤖", req_id: "r", computer: "电脑-1" }), [
        { tools: [], req_id: "r" }
      ])
      assert.deepStrictEqual(yield* namesIn(a1, "办公室"), ["🤖", "电脑-1"].sort())
    })
  )

  conform("rejects deceptive names and office ids", (world) =>
    Effect.gen(function* () {
      const peer = yield* computer(world)
      for (const text of ["pc\u200b-1", "\u202epc-1", "pc\u00ad-1", " pc-1", "pc-1\u00a0", "\u3164"]) {
        assert.match(assertDenied(yield* join(peer, "computer", text, "O1")), /^name must not/)
        assert.match(assertDenied(yield* join(peer, "computer", "pc-1", text)), /^office_id must not/)
      }
      assert.deepStrictEqual(yield* join(peer, "computer", "👩‍💻", "O1"), [true, null])
    })
  )

  conform("rejects a second Computer whose name is equal after NFKC, and finds the first by its exact name", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1", "ｐｃ")
      const c1 = yield* computerIn(world, "O1", "pc")
      yield* c1.answers(() => Effect.succeed([{ tools: [], req_id: "r" }]))
      const other = yield* computer(world)
      assert.include(assertDenied(yield* join(other, "computer", "ｐｃ", "O1")), "already exists")
      assert.include(assertDenied(yield* join(c1, "computer", "ｐｃ", "O1")), "Name mismatch")
      const request = { agent: "ｐｃ", req_id: "r", computer: "pc" }
      assert.deepStrictEqual(yield* a1.request("client:get_tools", request), [{ tools: [], req_id: "r" }])
      assertRejected(yield* a1.request("client:get_tools", { ...request, computer: "ｐｃ" }), 404)
      assert.deepStrictEqual(yield* join(other, "computer", "ｐｃ", "O2"), [true, null])
    })
  )

  conform("keeps no state after all members left", (world) =>
    Effect.gen(function* () {
      const peers = [yield* agentIn(world, "O1"), yield* computerIn(world, "O1"), yield* computer(world)]
      assert.deepInclude(world.server.load(), { connections: 3, sessions: 3, offices: 1 })
      const watcher = yield* agentIn(world, "O9")
      for (const peer of peers) yield* peer.close
      const gone = Effect.gen(function* () {
        yield* settled([watcher])
        return world.server.load().connections
      })
      yield* Effect.repeat(gone, { until: (count) => count === 1 })
      assert.deepStrictEqual(world.server.load(), { connections: 1, sessions: 1, offices: 1, calls: 0 })
    })
  )
})
