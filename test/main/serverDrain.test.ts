import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { type Answers, joinOffice } from "./nodes.ts"
import { type Cli, cli, node, startServer } from "./processes.ts"

const request = { agent: "a", req_id: "1", computer: "pc" }

/** An office with a pending call, and how to answer it. */
const underWay = Effect.fnUntraced(function* (url: string) {
  const asked = yield* Deferred.make<(answer: object) => void>()
  const answers: Answers = (_request, answer) => Deferred.doneUnsafe(asked, Exit.succeed(answer))
  const pc = yield* joinOffice({ url }, "computer", "pc", "o", { answers })
  const agent = yield* joinOffice({ url }, "agent", "a", "o")
  const call = yield* Effect.forkChild(agent.request("client:get_tools", request), { startImmediately: true })
  return { agent, pc, call, answer: yield* Deferred.await(asked) }
})

/** Lines about the shutdown of a process on stderr, in order. */
const steps = (process: Cli) =>
  [
    "shutdown requested",
    "graceful shutdown started",
    "no calls in flight",
    "drain timeout exceeded",
    "closing connections",
    "server stopped"
  ].filter((words) => process.stderr().includes(words))

describe("a2c server shutdown", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.live(`waits for pending calls on ${signal}, closes in order and exits with 0`, () =>
      Effect.gen(function* () {
        const { process, url } = yield* startServer(["--drain-timeout", "30"])
        const { agent, answer, pc } = yield* underWay(url)
        yield* process.signal(signal)
        yield* process.prints("graceful shutdown started", "stderr")
        const [rejected] = yield* agent.request("client:get_tools", { ...request, req_id: "2" })
        assert.deepInclude(rejected, { code: 503 })
        assert.strictEqual(yield* agent.join("a", "p"), "The Server is shutting down, try again")
        answer({ tools: [], req_id: "1" })
        yield* agent.closed
        yield* pc.closed
        assert.strictEqual(yield* process.ended, 0)
        assert.deepStrictEqual(steps(process), [
          "shutdown requested",
          "graceful shutdown started",
          "no calls in flight",
          "closing connections",
          "server stopped"
        ])
      })
    )
  }

  it.live("delivers a result that arrives during the shutdown", () =>
    Effect.gen(function* () {
      const { process, url } = yield* startServer()
      const { answer, call } = yield* underWay(url)
      yield* process.signal("SIGTERM")
      yield* process.prints("graceful shutdown started", "stderr")
      const big = { tools: [], req_id: "1", text: "x".repeat(8_000_000) }
      answer(big)
      assert.deepStrictEqual(yield* Fiber.join(call), [big])
      assert.strictEqual(yield* process.ended, 0)
    })
  )

  it.live("aborts calls after the drain timeout of a flag or a variable", () =>
    Effect.gen(function* () {
      const { process, url } = yield* startServer(["--drain-timeout", "1"])
      yield* underWay(url)
      yield* process.signal("SIGTERM")
      assert.strictEqual(yield* process.ended, 0)
      assert.include(steps(process), "drain timeout exceeded")

      const other = yield* startServer([], { A2C_DRAIN_TIMEOUT: "0" })
      const { agent } = yield* underWay(other.url)
      yield* other.process.signal("SIGTERM")
      yield* agent.closed
      assert.strictEqual(yield* other.process.ended, 0)
    })
  )

  it.live("receives a signal that arrives while it replaces the signal handlers", () =>
    Effect.gen(function* () {
      // Node drops a signal that waits for the event loop when the last listener is removed.
      const preload = `let isSent = false
        for (const name of ["off", "removeAllListeners"]) {
          const remove = process[name]
          process[name] = (signal, ...rest) => {
            if (signal === "SIGTERM" && !isSent) process.kill(process.pid, signal)
            isSent ||= signal === "SIGTERM"
            return remove.call(process, signal, ...rest)
          }
        }`
      const preloading = ["--import", `data:text/javascript,${encodeURIComponent(preload)}`]
      const process = yield* node([...preloading, cli, "server", "--port=0"])
      assert.strictEqual(yield* process.ended, 0)
      assert.include(steps(process), "server stopped")
    })
  )

  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGINT", 130]
  ] as const) {
    it.live(`exits at once on a second signal, with ${code} for ${signal}`, () =>
      Effect.gen(function* () {
        const { process, url } = yield* startServer(["--drain-timeout", "600"])
        const { agent } = yield* underWay(url)
        yield* process.signal("SIGTERM")
        yield* process.prints("graceful shutdown started", "stderr")
        yield* process.signal(signal)
        assert.strictEqual(yield* process.ended, code)
        yield* agent.closed
      })
    )
  }
})
