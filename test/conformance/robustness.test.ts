import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { calls } from "../../src/domain/wire/calls.ts"
import { cancel, serverRequests, updates } from "../../src/domain/wire/v0_2/events.ts"
import { agent, agentAndComputer, agentIn, assertRejected, computerIn, newsSince, settled } from "./joinedMembers.ts"
import { conform } from "./World.ts"

const everyEvent = [calls, serverRequests, updates, { cancel }]
  .flatMap((group): ReadonlyArray<{ readonly event: string } | undefined> => Object.values(group))
  .flatMap((definition) => definition?.event ?? [])

const nested = (depth: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = [value]
  return value
}

const base = { agent: "agent-1", req_id: "r", computer: "pc-1" }
const call = { ...base, tool_name: "t", params: {}, timeout: 5 }

/** These cases need fully parsed messages: errors are only found there. */
const readInFull = { validateBytes: 16 * 1024 }

describe("security and robustness", () => {
  conform("case 353: isolates offices from each other", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O2")
      const a3 = yield* agentIn(world, "O2", "agent-3")
      const c3 = yield* computerIn(world, "O1", "pc-3")
      const all = [a1, c1, a3, c3]
      yield* settled(all)
      const before = all.map((peer) => peer.received().length)
      for (const event of everyEvent.filter((name) => name !== "server:join_office")) {
        const rest = { ...call, uri: "dpe://h/d", mcp_server: "s" }
        yield* a1.notify(event, { ...rest, agent: "agent-3", computer: "pc-1", office_id: "O2" })
        yield* a3.notify(event, { ...rest, agent: "agent-1", computer: "pc-3", office_id: "O1" })
        yield* c1.notify(event, { ...rest, agent: "agent-1", computer: "pc-3", office_id: "O1" })
        yield* c3.notify(event, { ...rest, agent: "agent-3", computer: "pc-1", office_id: "O2" })
      }
      yield* settled(all, all)
      assert.deepStrictEqual(
        all.flatMap((peer, index) => newsSince(peer, before[index] ?? 0)),
        []
      )
    })
  )

  conform("case 354: protects other members from a burst of invalid messages", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* agentAndComputer(world, { tools: [], req_id: "r" })
      const rogue = yield* agent(world)
      const nonsense = [null, [], 7, "x", { agent: [] }, { office_id: { $gt: "" } }]
      for (let count = 0; count < 1000; count++) {
        const event = everyEvent[count % everyEvent.length] ?? "x"
        yield* rogue.notify(event, nonsense[count % nonsense.length])
      }
      yield* settled([rogue])
      assert.deepStrictEqual(yield* a1.request("client:get_tools", base), [{ tools: [], req_id: "r" }])
    })
  )

  conform(
    "rejects hostile nesting, __proto__ members and binary data",
    (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world)
        const hostile = [
          { deep: nested(1000) },
          JSON.parse('{"a":{"__proto__":{"polluted":1}}}'),
          { bytes: new Uint8Array([1, 2, 3]) }
        ]
        for (const params of hostile) {
          assertRejected(yield* a1.request("client:tool_call", { ...call, params }), 400)
          yield* c1.notify("server:update_desktop", { computer: "pc-1", params })
        }
        const join = { role: "computer", name: "x", office_id: nested(1000) }
        const [denied, why] = yield* c1.request("server:join_office", join)
        assert.deepStrictEqual([denied, typeof why], [false, "string"])
        yield* settled([a1, c1])
        assert.isFalse(c1.received().some(({ event }) => event === "client:tool_call"))
        assert.isFalse(a1.received().some(({ event }) => event === "notify:update_desktop"))
        assert.notProperty({}, "polluted")
      }),
    readInFull
  )

  conform(
    "blocks a hostile reply of a Computer",
    (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world)
        for (const value of [{ deep: nested(1000) }, { bytes: new Uint8Array([1]) }]) {
          yield* c1.answers(() => Effect.succeed([value]))
          assertRejected(yield* a1.request("client:get_tools", base), 500)
        }
      }),
    readInFull
  )

  conform(
    "case 355: rejects a message over the limit, and keeps its sender connected",
    (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world)
        const big = { text: "x".repeat(150_000) }
        assertRejected(yield* a1.request("client:get_tools", { ...base, big }), 413)
        yield* c1.answers(() => Effect.succeed([big]))
        assertRejected(yield* a1.request("client:get_tools", base), 500)
        yield* c1.answers(() => Effect.succeed([{ tools: [], req_id: "r" }]))
        assert.deepStrictEqual(yield* a1.request("client:get_tools", base), [{ tools: [], req_id: "r" }])
      }),
    { maxMessageBytes: 100_000 }
  )

  conform("case 360: logs a forbidden request as a warning", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O2")
      yield* a1.request("client:get_tools", base)
      yield* c1.request("client:get_tools", base)
      yield* a1.request("server:list_room", { agent: "agent-1", req_id: "r", office_id: "O2" })
      const warnings = world.logs.filter(({ level }) => level === "Warn").map(({ text }) => text)
      for (const words of ["cross-office request rejected", "request rejected", "another office"]) {
        assert.isTrue(
          warnings.some((text) => text.includes(words)),
          words
        )
      }
    })
  )

  conform("case 359: keeps contents out of the logs", (world) =>
    Effect.gen(function* () {
      const a1 = yield* world.connect({ auth: { role: "agent", token: "s3cret-token" } })
      yield* a1.request("server:join_office", { role: "agent", name: "agent-1", office_id: "O1" })
      const c1 = yield* computerIn(world, "O1")
      yield* c1.answers(() => Effect.succeed([{ content: [{ type: "text", text: "s3cret-result" }] }]))
      yield* a1.request("client:tool_call", { ...call, params: { password: "s3cret-params" } })
      assert.notInclude(JSON.stringify(world.logs), "s3cret")
    })
  )
})
