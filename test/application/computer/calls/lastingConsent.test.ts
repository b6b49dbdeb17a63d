import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { errorCodeOf } from "../../../../src/domain/tools/errorResults.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { setupOf, testComputer } from "../testComputer.ts"
import { settle } from "../../../settle.ts"

/** A Computer with two servers whose user allows each tool lastingly. */
const consenting = Effect.gen(function* () {
  const prompted: Array<string> = []
  let onPrompt: Effect.Effect<void> = Effect.void
  const confirm = ({ server, tool: name }: { readonly server: string; readonly tool: string }) =>
    Effect.suspend(() => {
      prompted.push(`${server}/${name}`)
      return Effect.as(onPrompt, { action: "allow", scope: "tool" } as const)
    })
  const ran: Array<string> = []
  const noted = (name: string, more: JsonObject = {}) =>
    tool(name, () => Effect.sync(() => (ran.push(name), textResult(name))), more)
  const alpha = yield* makeMemoryMcpServer({ tools: [noted("read"), noted("erase")] })
  const beta = yield* makeMemoryMcpServer({ tools: [] })
  const { computer } = yield* testComputer({ servers: { alpha, beta }, settings: { confirm } })
  yield* settle
  const call = (name = "read") => computer.callTool({ tool: name, params: {}, requester: "a" })
  const configure = (settings: { readonly [name: string]: JsonObject }) =>
    Effect.andThen(computer.reconfigure(setupOf(["alpha", "beta"], { configure: settings })), settle)
  return {
    alpha,
    beta,
    call,
    computer,
    configure,
    noted,
    prompted,
    ran,
    duringPrompt: (effect: Effect.Effect<unknown>) => void (onPrompt = Effect.asVoid(effect))
  }
})

type Consenting = Effect.Success<typeof consenting>

describe("a call that waits for consent", () => {
  it.effect.each([
    ["is lost", 4003, true, ({ alpha }: Consenting) => alpha.crash("crash")],
    ["is stopped", 4002, false, ({ computer }: Consenting) => Effect.orDie(computer.stop("alpha"))],
    ["offers it no longer", 4002, false, ({ alpha }: Consenting) => alpha.setTools([])]
  ] as const)("fails with its tool when the MCP server %s meanwhile", ([, code, isRetryable, change]) =>
    Effect.gen(function* () {
      const given = yield* consenting
      given.duringPrompt(Effect.andThen(change(given), settle))
      const result = yield* given.call()
      assert.deepStrictEqual([errorCodeOf(result), "retry_after" in (result.meta ?? {})], [code, isRetryable])
      assert.isEmpty(given.ran)
    })
  )
})

describe("lasting consent", () => {
  const covers = (title: string, change: (given: Consenting) => Effect.Effect<unknown>) =>
    it.effect(`covers a tool ${title}`, () =>
      Effect.gen(function* () {
        const given = yield* consenting
        yield* given.call()
        yield* change(given)
        yield* settle
        assert.isFalse((yield* given.call()).isError)
        assert.deepStrictEqual(given.prompted, ["alpha/read"])
      })
    )

  covers("that has not changed", () => Effect.void)
  covers("whose server crashed and restarted", ({ alpha }) =>
    Effect.andThen(alpha.crash("crash"), TestClock.adjust("1 second"))
  )
  covers("whose server lists the same definition again", ({ alpha, noted }) =>
    alpha.setTools([noted("read"), noted("other")])
  )
  covers("when another server changes", ({ beta, configure, noted }) =>
    Effect.andThen(beta.setTools([noted("write")]), configure({ beta: { server_parameters: { command: "other" } } }))
  )

  const ends = (title: string, change: (given: Consenting) => Effect.Effect<unknown>, server = "alpha") =>
    it.effect(`ends when ${title}`, () =>
      Effect.gen(function* () {
        const given = yield* consenting
        yield* given.call()
        yield* change(given)
        yield* settle
        assert.isFalse((yield* given.call()).isError)
        assert.deepStrictEqual(given.prompted, ["alpha/read", `${server}/read`])
      })
    )

  ends("the description of the tool changes", ({ alpha, noted }) =>
    alpha.setTools([noted("read", { description: "erases everything" })])
  )
  ends("the parameters of the tool change", ({ alpha, noted }) =>
    alpha.setTools([noted("read", { inputSchema: { type: "object", properties: { force: {} } } })])
  )
  ends("the annotations of the tool change", ({ alpha, noted }) =>
    alpha.setTools([noted("read", { annotations: { destructiveHint: true } })])
  )
  ends("another tool gets the name", ({ configure }) =>
    configure({ alpha: { tool_meta: { erase: { alias: "read" }, read: { alias: "peek" } } } })
  )
  ends("the server runs another command", ({ configure }) =>
    configure({ alpha: { server_parameters: { command: "other" } } })
  )
  ends("the server becomes a remote one", ({ configure }) =>
    configure({ alpha: { type: "streamable", server_parameters: { url: "https://mcp.example/mcp" } } })
  )
  ends(
    "another server offers the tool",
    ({ alpha, beta, noted }) => Effect.andThen(alpha.setTools([]), beta.setTools([noted("read")])),
    "beta"
  )

  it.effect("covers an earlier definition again, which was allowed", () =>
    Effect.gen(function* () {
      const { alpha, call, noted, prompted } = yield* consenting
      for (const description of ["one", "two", "one"]) {
        yield* alpha.setTools([noted("read", { description })])
        yield* settle
        yield* call()
      }
      assert.strictEqual(prompted.length, 2)
    })
  )
})

describe("consent that is given while the tool changes", () => {
  const rejects = (title: string, change: (given: Consenting) => Effect.Effect<unknown>) =>
    it.effect(`does not run the tool when ${title}`, () =>
      Effect.gen(function* () {
        const given = yield* consenting
        const requests = yield* Deferred.make<void>()
        const changed = yield* Deferred.make<void>()
        given.duringPrompt(Effect.andThen(Deferred.succeed(requests, undefined), Deferred.await(changed)))
        const calling = yield* Effect.forkChild(given.call())
        yield* Deferred.await(requests)
        yield* change(given)
        yield* settle
        yield* Deferred.succeed(changed, undefined)
        assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4002)
        assert.deepStrictEqual(given.ran, [])
      })
    )

  rejects("its description changes", ({ alpha, noted }) => alpha.setTools([noted("read", { description: "new" })]))
  rejects("it is removed", ({ alpha }) => alpha.setTools([]))
  rejects("its name goes to another tool", ({ configure }) =>
    configure({ alpha: { tool_meta: { erase: { alias: "read" }, read: { alias: "peek" } } } })
  )
  rejects("its server runs another command", ({ configure }) =>
    configure({ alpha: { server_parameters: { command: "other" } } })
  )
})
