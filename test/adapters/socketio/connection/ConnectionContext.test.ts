import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type MessageOptions,
  makeConnectionContext
} from "../../../../src/adapters/socketio/connection/ConnectionContext.ts"
import { Limits } from "../../../../src/application/server/Limits.ts"
import { recordMetrics } from "../../../application/server/parts.ts"
import { recordGauges } from "../../../recordGauges.ts"

const start = Effect.fnUntraced(function* (options: MessageOptions = {}, limits: Partial<Limits> = {}) {
  const { exceeded, metrics } = recordMetrics()
  const { metrics: gauges, read } = recordGauges()
  const context = yield* makeConnectionContext(
    options,
    { ...metrics, gauge: gauges.gauge },
    () => Effect.die("no member"),
    () => undefined
  ).pipe(Effect.provideService(Limits, { ...Limits.defaultValue(), ...limits }))
  return { context, exceeded, read }
})

/** A connection that holds a part of a message, and what was closed. */
const connection = (bytes = 0) => {
  const closed: Array<string> = []
  return {
    closed,
    incompleteBytes: () => bytes,
    traffic: { receivedBytes: () => bytes },
    closeIncomplete: () => void closed.push("incomplete"),
    close: () => void closed.push("close")
  }
}

describe("the context of connections", () => {
  it.effect.each([
    [{}, { namespace: "/smcp", maxMessageBytes: 16 * 1024 * 1024, validateBytes: 16 * 1024 }],
    [
      { namespace: "/other", maxMessageBytes: 1000, validateBytes: 500 },
      { namespace: "/other", maxMessageBytes: 1000, validateBytes: 500 }
    ],
    [
      { validate: true, validateBytes: 500 },
      { namespace: "/smcp", maxMessageBytes: 16 * 1024 * 1024, validateBytes: Number.POSITIVE_INFINITY }
    ]
  ] as const)("limit packets by their options: %j", ([options, limits]) =>
    Effect.gen(function* () {
      const { context } = yield* start(options)
      assert.deepStrictEqual([context.limits, context.namespace], [limits, limits.namespace])
    })
  )

  it.effect("closes the connection that waits longest for its admission, 256 above the limit", () =>
    Effect.gen(function* () {
      const { context, exceeded, read } = yield* start({}, { connections: 10 })
      const [first, second] = [connection(), connection()]
      for (const one of [first, second]) context.unauthenticated.start(one)
      context.limitConnections(266)
      assert.deepStrictEqual([first.closed, exceeded, read("unauthenticated_connections")], [[], [], 2])
      context.limitConnections(267)
      assert.deepStrictEqual([first.closed, second.closed, exceeded], [["close"], [], ["connections"]])
    })
  )

  it.effect("shares the limit of incomplete messages between them", () =>
    Effect.gen(function* () {
      const { context, exceeded, read } = yield* start({}, { totalIncompleteBytes: 100, totalBacklogBytes: 10_000 })
      const [small, large] = [connection(40), connection(61)]
      context.incompleteMessages.update(small)
      assert.strictEqual(read("incomplete_bytes"), 40)
      context.incompleteMessages.update(large)
      yield* Effect.yieldNow
      assert.deepStrictEqual([small.closed, large.closed, exceeded], [[], ["incomplete"], ["totalIncompleteBytes"]])
    })
  )
})
