import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { tool } from "../../../conformance/members.ts"
import { counted, setupOf, startedComputer, standing } from "../testComputer.ts"

const letGo = TestClock.adjust(0)

/** Two servers that count their starts; at first only the first one is configured. */
const twoServers = Effect.fnUntraced(function* (configure: { readonly [name: string]: JsonObject } = {}) {
  const alpha = counted(yield* makeMemoryMcpServer({ tools: [tool("a")] }))
  const beta = counted(yield* makeMemoryMcpServer({ tools: [tool("b")] }))
  const fixture = yield* startedComputer({ servers: { alpha, beta }, configure })
  return { ...fixture, alpha: alpha.starts, beta: beta.starts }
})

describe("reconfigure", () => {
  it.effect("keeps the session of an unchanged server", () =>
    Effect.gen(function* () {
      const { alpha, beta, computer } = yield* twoServers()
      const difference = yield* computer.reconfigure(
        setupOf(["alpha", "beta"], { configure: { beta: { server_parameters: { command: "other" } } } })
      )
      yield* letGo
      assert.deepStrictEqual([difference.unchanged, difference.restarted], [["alpha"], ["beta"]])
      assert.deepStrictEqual([alpha.count, beta.count], [1, 2])
    })
  )

  it.effect("stops a disabled server and starts an enabled one", () =>
    Effect.gen(function* () {
      const { beta, computer } = yield* twoServers()
      yield* computer.reconfigure(setupOf(["alpha", "beta"], { configure: { beta: { disabled: true } } }))
      yield* letGo
      assert.strictEqual(yield* standing(computer, "beta"), "Stopped")
      yield* computer.reconfigure(setupOf(["alpha", "beta"]))
      yield* letGo
      assert.deepStrictEqual([yield* standing(computer, "beta"), beta.count], ["Ready", 2])
    })
  )

  it.effect("applies new tool settings without a restart", () =>
    Effect.gen(function* () {
      const { alpha, computer } = yield* twoServers()
      const { reconfigured } = yield* computer.reconfigure(
        setupOf(["alpha", "beta"], { configure: { alpha: { tool_meta: { a: { alias: "renamed" } } } } })
      )
      yield* letGo
      assert.deepStrictEqual(reconfigured, ["alpha"])
      assert.deepStrictEqual([...(yield* computer.catalogue).entries.keys()], ["renamed", "b"])
      assert.strictEqual(alpha.count, 1)
    })
  )

  it.effect("restarts only the servers that use a changed variable", () =>
    Effect.gen(function* () {
      const configure = { alpha: { server_parameters: { command: "x", args: ["${envFile:KEY}"] } } }
      const { alpha, beta, computer } = yield* twoServers(configure)
      const variables = (key: string) => ({ alpha: { "envFile:KEY": Redacted.make(key) } })
      yield* computer.reconfigure(setupOf(["alpha", "beta"], { configure, variables: variables("one") }))
      yield* letGo
      assert.deepStrictEqual([alpha.count, beta.count], [2, 1])
      yield* computer.reconfigure(setupOf(["alpha", "beta"], { configure, variables: variables("one") }))
      yield* letGo
      assert.deepStrictEqual([alpha.count, beta.count], [2, 1])
    })
  )

  it.effect("restarts the servers that use a redefined input", () =>
    Effect.gen(function* () {
      const configure = { alpha: { server_parameters: { command: "x", args: ["${input:i}"] } } }
      const { alpha, beta, computer } = yield* twoServers(configure)
      const inputs = (preset: string) => [{ type: "promptString", id: "i", default: preset }]
      yield* computer.reconfigure(setupOf(["alpha", "beta"], { configure, inputs: inputs("one") }))
      yield* letGo
      yield* computer.reconfigure(setupOf(["alpha", "beta"], { configure, inputs: inputs("two") }))
      yield* letGo
      assert.deepStrictEqual([alpha.count, beta.count], [3, 1])
    })
  )

  it.effect("completes a change after its caller was interrupted", () =>
    Effect.gen(function* () {
      let isSlow = true
      const memory = yield* makeMemoryMcpServer()
      const connect = Effect.andThen(
        Effect.addFinalizer(() => Effect.sleep(isSlow ? "10 seconds" : 0)),
        memory.connect
      )
      const { computer } = yield* startedComputer({ servers: { alpha: { connect } } })
      const configure = { alpha: { server_parameters: { command: "other" } } }
      const changing = yield* Effect.forkChild(computer.reconfigure(setupOf(["alpha"], { configure })), {
        startImmediately: true
      })
      const leaving = yield* Effect.forkChild(Fiber.interrupt(changing), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(leaving)
      isSlow = false
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )
})
