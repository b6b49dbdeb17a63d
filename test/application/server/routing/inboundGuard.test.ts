import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result } from "effect"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { guardInbound } from "../../../../src/application/server/routing/inboundGuard.ts"
import type { Limits } from "../../../../src/application/server/Limits.ts"
import { makeLink, makeParts, makeRequest, openMember, recordLogs, recordMetrics } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

/** The guard before a handler that replies with its event when `open` is done, and an Agent `ada`. */
const start = Effect.fnUntraced(function* (limits: Partial<Limits>, open: Effect.Effect<void> = Effect.void) {
  const { dropped, exceeded, metrics } = recordMetrics()
  const parts = yield* makeParts({ limits, metrics })
  const pauses: Array<number> = []
  const { link, setBacklog } = makeLink("ada", { pauseReading: (millis) => void pauses.push(millis) })
  const connection = yield* openMember(parts, link, "agent")
  const guard = yield* parts.provide(guardInbound(parts, ({ event }) => Effect.as(open, [jsonBody(event)])))
  const { entries, layer } = recordLogs()
  const send = (event: string, value: unknown = {}) =>
    Effect.suspend(() => guard(makeRequest(connection, event, value))).pipe(
      Effect.map((reply) => reply.map((body) => Result.getOrThrow(body.value()))),
      Effect.provide(layer)
    )
  return { dropped, entries, exceeded, pauses, send, setBacklog }
})

describe("the guard of a connection beyond its rate limit", () => {
  const rate = { messagesPerSecond: 0.5, messageBurst: 1 }

  /** A connection whose next message is beyond the limit. */
  const test = effectWith(Effect.tap(start(rate), ({ send }) => send("server:list_room")))

  test("pauses reading for a tenth of a second", function* ({ pauses, send }) {
    assert.deepStrictEqual(pauses, [])
    yield* send("server:list_room")
    assert.deepStrictEqual(pauses, [100])
  })

  test("rejects each event in its shape", function* ({ send }) {
    const error = { code: 429, limit: "messages_per_second", max: 0.5, retry_after: 2 }
    for (const event of ["server:list_room", "client:get_tools", "server:unknown"])
      assert.deepInclude((yield* send(event))[0], error)
    for (const event of ["server:join_office", "server:leave_office"])
      assert.deepStrictEqual((yield* send(event))[0], false)
    for (const event of ["server:update_desktop", "server:tool_call_cancel"])
      assert.deepStrictEqual(yield* send(event), [])
  })

  test("counts messages without a reply as dropped", function* ({ dropped, send }) {
    yield* send("server:list_room")
    assert.deepStrictEqual(dropped, [])
    yield* send("server:update_desktop")
    yield* send("server:tool_call_cancel")
    assert.deepStrictEqual(dropped, ["message", "message"])
  })

  test("logs the client and the rate once", function* ({ entries, send }) {
    for (let sent = 0; sent < 2; sent++) yield* send("server:update_desktop")
    assert.deepStrictEqual(entries[0], ["Warn", "rate limit exceeded", { sid: "ada", perSecond: 0.5, burst: 1 }])
    assert.strictEqual(entries.filter(([, message]) => message === "rate limit exceeded").length, 1)
  })
})

describe("the guard of a connection that reads slowly", () => {
  it.effect("rejects calls above half of the limit of its backlog", () =>
    Effect.gen(function* () {
      const { exceeded, send, setBacklog } = yield* start({ backlogBytes: 100 })
      setBacklog(50)
      assert.deepStrictEqual(yield* send("client:get_tools"), ["client:get_tools"])
      setBacklog(51)
      const [rejected] = yield* send("client:get_tools")
      assert.deepInclude(rejected, { code: 429, limit: "backlog_bytes", max: 100, retry_after: 1 })
      assert.deepStrictEqual(exceeded, ["backlogBytes"])
    })
  )
})

describe("the guard of a connection with joins in progress", () => {
  it.effect("rejects the 17th and counts it", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { exceeded, send } = yield* start({}, Deferred.await(gate))
      const join = send("server:join_office")
      const joins = yield* Effect.forEach(Array.from({ length: 16 }), () =>
        Effect.forkChild(join, { startImmediately: true })
      )
      assert.deepStrictEqual(exceeded, [])
      assert.deepStrictEqual((yield* join)[0], false)
      assert.deepStrictEqual(exceeded, ["pendingMembershipChanges"])
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of joins) assert.deepStrictEqual(yield* Fiber.join(fiber), ["server:join_office"])
    })
  )
})
