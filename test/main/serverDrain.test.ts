import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, type Scope } from "effect"
import { io } from "socket.io-client"
import { a2c, type Cli, node, cli } from "./processes.ts"

const server = Effect.fnUntraced(function* (...more: ReadonlyArray<string>) {
  const process = yield* a2c("server", "--port", "0", ...more)
  return { process, url: (yield* process.prints("listening on ")).replace("listening on ", "") }
})

interface Member {
  readonly request: (event: string, body: object) => Effect.Effect<ReadonlyArray<unknown>>
  readonly closed: Effect.Effect<string>
  /** Returns the acknowledgement function of the first request. */
  readonly requestCount: Effect.Effect<(answer: object) => void>
}

/** A member that uses only the wire protocol. */
const member = Effect.fnUntraced(function* (
  url: string,
  role: string,
  name: string
): Effect.fn.Return<Member, never, Scope.Scope> {
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${url}/smcp`, {
        path: "/smcp",
        query: { a2c_version: "0.2.0" },
        auth: { role },
        forceNew: true,
        reconnection: false
      })
    ),
    (one) => Effect.sync(() => one.disconnect())
  )
  const closed = yield* Deferred.make<string>()
  const requestCount = yield* Deferred.make<(answer: object) => void>()
  socket.on("disconnect", (reason) => Deferred.doneUnsafe(closed, Exit.succeed(reason)))
  socket.on("client:get_tools", (_request: object, ack: (answer: object) => void) => {
    Deferred.doneUnsafe(requestCount, Exit.succeed(ack))
  })
  const request = (event: string, body: object) =>
    Effect.callback<ReadonlyArray<unknown>>((resume) => {
      socket.emit(event, body, (...values: ReadonlyArray<unknown>) => resume(Effect.succeed(values)))
    })
  assert.deepStrictEqual(yield* request("server:join_office", { role, name, office_id: "o" }), [true, null])
  return { request, closed: Deferred.await(closed), requestCount: Deferred.await(requestCount) }
})

const request = { agent: "a", req_id: "1", computer: "pc" }

/** An office with a pending call. */
const underWay = Effect.fnUntraced(function* (url: string) {
  const pc = yield* member(url, "computer", "pc")
  const agent = yield* member(url, "agent", "a")
  const call = yield* Effect.forkChild(agent.request("client:get_tools", request), { startImmediately: true })
  return { agent, pc, call, answer: yield* pc.requestCount }
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
        const { process, url } = yield* server("--grace", "30")
        const { agent, answer, pc } = yield* underWay(url)
        yield* process.signal(signal)
        yield* process.prints("graceful shutdown started", "stderr")
        const [rejected] = yield* agent.request("client:get_tools", { ...request, req_id: "2" })
        assert.deepInclude(rejected, { code: 503 })
        const [joined, reason] = yield* agent.request("server:join_office", {
          role: "agent",
          name: "a",
          office_id: "p"
        })
        assert.deepStrictEqual([joined, reason], [false, "The Server is shutting down, try again"])
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
      const { process, url } = yield* server()
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
      const { process, url } = yield* server("--grace", "1")
      yield* underWay(url)
      yield* process.signal("SIGTERM")
      assert.strictEqual(yield* process.ended, 0)
      assert.include(steps(process), "drain timeout exceeded")

      const other = yield* node([cli, "server", "--port", "0"], { A2C_GRACE: "0" })
      const { agent } = yield* underWay((yield* other.prints("listening on ")).replace("listening on ", ""))
      yield* other.signal("SIGTERM")
      yield* agent.closed
      assert.strictEqual(yield* other.ended, 0)
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
      const process = yield* node([
        "--import",
        `data:text/javascript,${encodeURIComponent(preload)}`,
        cli,
        "server",
        "--port=0"
      ])
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
        const { process, url } = yield* server("--grace", "600")
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
