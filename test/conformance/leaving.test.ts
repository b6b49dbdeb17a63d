import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import {
  agent,
  agentIn,
  assertDenied,
  assertRefused,
  bodiesOf,
  computer,
  computerIn,
  join,
  malformed,
  settled
} from "./cast.ts"
import { conform } from "./World.ts"

const left = (computerName: string) => ({ office_id: "O1", computer: computerName })

describe("leaving and disconnecting", () => {
  conform("cases 062, 064: a Computer leaves, the others hear it", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      assert.deepStrictEqual(yield* c1.ask("server:leave_office", { office_id: "O1" }), [true, null])
      assert.deepStrictEqual(yield* a1.hear("notify:leave_office"), left("pc-1"))
      yield* settled([c1])
      assert.deepStrictEqual(bodiesOf(c1, "notify:leave_office"), [])
    })
  )

  conform("cases 063, 065: an Agent leaves and its place is free", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      yield* a1.ask("server:leave_office", { office_id: "O1" })
      assert.deepStrictEqual(yield* c1.hear("notify:leave_office"), { office_id: "O1", agent: "agent-1" })
      yield* agentIn(world, "O1", "agent-2")
    })
  )

  conform("cases 066, 067: nobody leaves where nobody is", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const a3 = yield* agentIn(world, "O2", "agent-3")
      const c1 = yield* computerIn(world, "O1")
      const stranger = yield* computer(world)
      assertDenied(yield* c1.ask("server:leave_office", { office_id: "O2" }))
      assertDenied(yield* stranger.ask("server:leave_office", { office_id: "O1" }))
      yield* settled([c1, stranger], [a1, a3])
      assert.deepStrictEqual([bodiesOf(a1, "notify:leave_office"), a3.heard()], [[], []])
    })
  )

  conform("cases 068, 072: a closed connection is one leave, in its office only", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const a3 = yield* agentIn(world, "O2", "agent-3")
      const c1 = yield* computerIn(world, "O1")
      yield* c1.close
      assert.deepStrictEqual(yield* a1.hear("notify:leave_office"), left("pc-1"))
      yield* settled([a1, a3])
      assert.strictEqual(bodiesOf(a1, "notify:leave_office").length, 1)
      assert.deepStrictEqual(a3.heard(), [])
    })
  )

  conform("case 069: a lost Agent leaves, another may come", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      yield* a1.close
      assert.deepStrictEqual(yield* c1.hear("notify:leave_office"), { office_id: "O1", agent: "agent-1" })
      yield* agentIn(world, "O1", "agent-2")
    })
  )

  conform("case 070: a name is free once its Computer has gone", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      yield* a1.hear("notify:enter_office")
      yield* c1.close
      yield* a1.hear("notify:leave_office")
      yield* computerIn(world, "O1")
      assert.deepStrictEqual(yield* a1.hear("notify:enter_office"), { office_id: "O1", computer: "pc-1" })
    })
  )

  conform("case 071: who left and then disconnects has left once", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      const c2 = yield* computerIn(world, "O1", "pc-2")
      yield* c1.ask("server:leave_office", { office_id: "O1" })
      yield* c1.close
      yield* c2.close
      yield* a1.hear("notify:leave_office")
      assert.deepStrictEqual(yield* a1.hear("notify:leave_office"), left("pc-2"))
    })
  )

  conform("cases 073, 074: what is no leave is refused with words", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      const bad = [...malformed, [{}], [{ office_id: 5 }], [{ office_id: "" }]]
      for (const payload of bad) assertDenied(yield* c1.ask("server:leave_office", ...payload))
      yield* settled([c1], [a1])
      assert.deepStrictEqual(bodiesOf(a1, "notify:leave_office"), [])
      assert.deepStrictEqual(yield* c1.ask("server:leave_office", { office_id: "O1" }), [true, null])
    })
  )

  conform("case 075: an office ends with its last member and begins with the next", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      yield* a1.ask("server:leave_office", { office_id: "O1" })
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
const list = (office: string) => ({ agent: "agent-1", req_id: "r1", office_id: office })

describe("list_room", () => {
  conform("cases 076, 078: everybody in the office, and nobody else", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      const c2 = yield* computerIn(world, "O1", "pc-2")
      yield* computerIn(world, "O2", "elsewhere")
      const { req_id, sessions } = listing(yield* a1.ask("server:list_room", list("O1")))
      assert.strictEqual(req_id, "r1")
      const expected = [
        [a1, "agent-1", "agent"],
        [c1, "pc-1", "computer"],
        [c2, "pc-2", "computer"]
      ] as const
      assert.deepStrictEqual(
        sessions.toSorted((one, other) => one.name.localeCompare(other.name)),
        expected.map(([peer, name, role]) => ({
          sid: peer.sid(),
          name,
          role,
          office_id: "O1",
          a2c_version: "0.2.0"
        }))
      )
    })
  )

  conform("case 077: alone in the office", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const { sessions } = listing(yield* a1.ask("server:list_room", list("O1")))
      assert.deepStrictEqual(
        sessions.map(({ name }) => name),
        ["agent-1"]
      )
    })
  )

  conform("cases 079, 080: another office is not shown, whether it exists or not", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      yield* agentIn(world, "O2", "agent-3")
      const existing = yield* a1.ask("server:list_room", list("O2"))
      const missing = yield* a1.ask("server:list_room", list("O3"))
      assertRefused(existing, 4104)
      assert.deepStrictEqual(JSON.stringify(existing).replaceAll("O2", "O3"), JSON.stringify(missing))
    })
  )

  conform("cases 081, 082: only an Agent in an office may list", (world) =>
    Effect.gen(function* () {
      assertRefused(yield* (yield* agent(world)).ask("server:list_room", list("O1")), 4103)
      assertRefused(yield* (yield* computerIn(world, "O1")).ask("server:list_room", list("O1")), 403)
    })
  )

  conform("case 083: who has gone is not listed", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c2 = yield* computerIn(world, "O1", "pc-2")
      const c3 = yield* computerIn(world, "O1", "pc-3")
      yield* c2.ask("server:leave_office", { office_id: "O1" })
      yield* c3.close
      yield* a1.hear("notify:leave_office")
      yield* a1.hear("notify:leave_office")
      const { sessions } = listing(yield* a1.ask("server:list_room", list("O1")))
      assert.deepStrictEqual(
        sessions.map(({ name }) => name),
        ["agent-1"]
      )
    })
  )

  conform("cases 084, 085: what is no list request is refused", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const good = list("O1")
      const bad = [
        ...malformed,
        ...Object.keys(good).map((key) => [
          Object.fromEntries(Object.entries(good).filter(([k]) => k !== key))
        ]),
        [{ ...good, office_id: 7 }]
      ]
      for (const payload of bad) assertRefused(yield* a1.ask("server:list_room", ...payload), 400)
    })
  )

  conform("case 025: the version a member came with is shown", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agent(world, "0.2.5")
      yield* join(a1, "agent", "agent-1", "O1")
      const { sessions } = listing(yield* a1.ask("server:list_room", list("O1")))
      assert.strictEqual(sessions[0]?.a2c_version, "0.2.5")
    })
  )
})
