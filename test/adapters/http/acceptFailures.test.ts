import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { listen } from "../../../src/adapters/http/httpServer.ts"

/** A listening server and the log lines since. `fail` reports an error of the system as Node does. */
const listening = Effect.gen(function* () {
  const lines: Array<unknown> = []
  const logger = Logger.make<unknown, void>(({ message }) => void lines.push(message))
  const server = createServer()
  yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
  const address = yield* listen(server, { host: "127.0.0.1", port: 0 }, (reason) => reason).pipe(
    Effect.provide(Logger.layer([logger]))
  )
  const fail = Effect.andThen(
    Effect.sync(() => server.emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }))),
    TestClock.adjust(0)
  )
  const line = ["accept failed", { address: `127.0.0.1:${address.port}`, reason: "too many open files" }]
  return { fail, line, lines }
})

describe("a listener", () => {
  it.effect("survives and logs a connection that the system cannot accept", () =>
    Effect.gen(function* () {
      const { fail, line, lines } = yield* listening
      yield* fail
      assert.deepStrictEqual(lines, [line])
    })
  )

  it.effect("logs failures to accept at most once a minute", () =>
    Effect.gen(function* () {
      const { fail, line, lines } = yield* listening
      yield* Effect.repeat(fail, { times: 9 })
      yield* TestClock.adjust("59 seconds")
      yield* fail
      assert.strictEqual(lines.length, 1)
      yield* TestClock.adjust("1 second")
      yield* fail
      assert.deepStrictEqual(lines, [line, line])
    })
  )
})
