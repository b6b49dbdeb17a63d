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
  settled
} from "./joinedMembers.ts"
import { conform } from "./World.ts"

const left = (computerName: string) => ({ office_id: "O1", computer: computerName })

describe("leave and disconnect", () => {
  conform("cases 062, 064: notifies the others when a Computer leaves", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      assert.deepStrictEqual(yield* c1.request("server:leave_office", { office_id: "O1" }), [true, null])
      assert.deepStrictEqual(yield* a1.receive("notify:leave_office"), left("pc-1"))
      yield* settled([c1])
      assert.deepStrictEqual(bodiesOf(c1, "notify:leave_office"), [])
    })
  )

  conform("cases 063, 065: frees the membership of an Agent that leaves", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      yield* a1.request("server:leave_office", { office_id: "O1" })
      assert.deepStrictEqual(yield* c1.receive("notify:leave_office"), { office_id: "O1", agent: "agent-1" })
      yield* agentIn(world, "O1", "agent-2")
    })
  )

  conform("cases 066, 067: rejects a leave without a membership", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const a3 = yield* agentIn(world, "O2", "agent-3")
      const c1 = yield* computerIn(world, "O1")
      const outsider = yield* computer(world)
      assertDenied(yield* c1.request("server:leave_office", { office_id: "O2" }))
      assertDenied(yield* outsider.request("server:leave_office", { office_id: "O1" }))
      yield* settled([c1, outsider], [a1, a3])
      assert.deepStrictEqual([bodiesOf(a1, "notify:leave_office"), a3.received()], [[], []])
    })
  )

  conform("cases 068, 072: notifies once of a closed connection, in its office only", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const a3 = yield* agentIn(world, "O2", "agent-3")
      const c1 = yield* computerIn(world, "O1")
      yield* c1.close
      assert.deepStrictEqual(yield* a1.receive("notify:leave_office"), left("pc-1"))
      yield* settled([a1, a3])
      assert.strictEqual(bodiesOf(a1, "notify:leave_office").length, 1)
      assert.deepStrictEqual(a3.received(), [])
    })
  )

  conform("case 069: frees the membership of a lost Agent", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      yield* a1.close
      assert.deepStrictEqual(yield* c1.receive("notify:leave_office"), { office_id: "O1", agent: "agent-1" })
      yield* agentIn(world, "O1", "agent-2")
    })
  )

  conform("case 070: frees the name of a Computer that left", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      yield* a1.receive("notify:enter_office")
      yield* c1.close
      yield* a1.receive("notify:leave_office")
      yield* computerIn(world, "O1")
      assert.deepStrictEqual(yield* a1.receive("notify:enter_office"), { office_id: "O1", computer: "pc-1" })
    })
  )

  conform("case 071: notifies once of a leave before a disconnect", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      const c2 = yield* computerIn(world, "O1", "pc-2")
      yield* c1.request("server:leave_office", { office_id: "O1" })
      yield* c1.close
      yield* c2.close
      yield* a1.receive("notify:leave_office")
      assert.deepStrictEqual(yield* a1.receive("notify:leave_office"), left("pc-2"))
    })
  )

  conform("cases 073, 074: rejects an invalid leave with a reason", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      const bad = [...malformed, [{}], [{ office_id: 5 }], [{ office_id: "" }]]
      for (const payload of bad) assertDenied(yield* c1.request("server:leave_office", ...payload))
      yield* settled([c1], [a1])
      assert.deepStrictEqual(bodiesOf(a1, "notify:leave_office"), [])
      assert.deepStrictEqual(yield* c1.request("server:leave_office", { office_id: "O1" }), [true, null])
    })
  )

  conform("case 075: ends an office with its last member, and starts it with the next", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      yield* a1.request("server:leave_office", { office_id: "O1" })
      assert.strictEqual(world.server.load().offices, 0)
      yield* agentIn(world, "O1", "agent-2")
    })
  )
})

interface Session {
  readonly sid: string
  readonly name: string
  readonly role: string
  readonly office_id: string
  readonly a2c_version: string
}
const listing = (answer: ReadonlyArray<unknown>) =>
  answer[0] as { readonly sessions: ReadonlyArray<Session>; readonly req_id: string }
const namesOf = ({ sessions }: ReturnType<typeof listing>) => sessions.map(({ name }) => name)
const list = (office: string) => ({ agent: "agent-1", req_id: "r1", office_id: office })

describe("list_room", () => {
  conform("cases 076, 078: lists the members of the office and no others", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      const c2 = yield* computerIn(world, "O1", "pc-2")
      yield* computerIn(world, "O2", "elsewhere")
      const { req_id, sessions } = listing(yield* a1.request("server:list_room", list("O1")))
      assert.strictEqual(req_id, "r1")
      const expected = [
        [a1, "agent-1", "agent"],
        [c1, "pc-1", "computer"],
        [c2, "pc-2", "computer"]
      ] as const
      assert.deepStrictEqual(
        sessions.toSorted((one, other) => one.name.localeCompare(other.name)),
        expected.map(([peer, name, role]) => {
          return { sid: peer.sid(), name, role, office_id: "O1", a2c_version: "0.2.0" }
        })
      )
    })
  )

  conform("case 077: lists an Agent alone in its office", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      assert.deepStrictEqual(namesOf(listing(yield* a1.request("server:list_room", list("O1")))), ["agent-1"])
    })
  )

  conform("cases 079, 080: rejects another office, existing or not", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      yield* agentIn(world, "O2", "agent-3")
      const existing = yield* a1.request("server:list_room", list("O2"))
      const missing = yield* a1.request("server:list_room", list("O3"))
      assertRejected(existing, 4104)
      assert.deepStrictEqual(JSON.stringify(existing).replaceAll("O2", "O3"), JSON.stringify(missing))
    })
  )

  conform("cases 081, 082: requires an Agent in an office", (world) =>
    Effect.gen(function* () {
      assertRejected(yield* (yield* agent(world)).request("server:list_room", list("O1")), 4103)
      assertRejected(yield* (yield* computerIn(world, "O1")).request("server:list_room", list("O1")), 403)
    })
  )

  conform("case 083: omits members that left", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c2 = yield* computerIn(world, "O1", "pc-2")
      const c3 = yield* computerIn(world, "O1", "pc-3")
      yield* c2.request("server:leave_office", { office_id: "O1" })
      yield* c3.close
      yield* a1.receive("notify:leave_office")
      yield* a1.receive("notify:leave_office")
      assert.deepStrictEqual(namesOf(listing(yield* a1.request("server:list_room", list("O1")))), ["agent-1"])
    })
  )

  conform("cases 084, 085: rejects an invalid request", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const good = list("O1")
      const bad = [
        ...malformed,
        ...Object.keys(good).map((key) => [Object.fromEntries(Object.entries(good).filter(([k]) => k !== key))]),
        [{ ...good, office_id: 7 }]
      ]
      for (const payload of bad) assertRejected(yield* a1.request("server:list_room", ...payload), 400)
    })
  )

  conform("case 025: shows the version of a member", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agent(world, "0.2.5")
      yield* join(a1, "agent", "agent-1", "O1")
      const { sessions } = listing(yield* a1.request("server:list_room", list("O1")))
      assert.strictEqual(sessions[0]?.a2c_version, "0.2.5")
    })
  )
})
