/** Tests calls of half an hour on virtual time: they end at once, and every run is equal. */
import { deepStrictEqual, strictEqual } from "node:assert/strict"
import { Console, Deferred, Effect, Fiber, Layer, Queue, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  Agent,
  ApprovalStore,
  AuditLog,
  Authenticator,
  Computer,
  Inputs,
  Observability,
  parseComputerConfig,
  Policy,
  SchemaValidator,
  Server
} from "a2c-smcp"
import { MemoryCluster, MemoryMcp, MemoryTransport } from "a2c-smcp/testing"

const config = Result.getOrThrow(
  parseComputerConfig({
    servers: {
      clock: { type: "stdio", server_parameters: { command: "in memory" }, default_tool_meta: { auto_apply: true } }
    }
  })
)

/** An office in memory: a Server, the Computer `desk` with these MCP servers, and an Agent. */
const officeWith = (servers: Parameters<typeof MemoryMcp.layer>[0]) =>
  Agent.layer({ office: "team", name: "thinker" }).pipe(
    Layer.provideMerge(Computer.layer({ office: "team", name: "desk", config })),
    Layer.provideMerge(Server.layer),
    Layer.provide([Authenticator.layerAllowAll, Observability.layer]),
    Layer.provide([Policy.layerNone, SchemaValidator.layerAllowAll, ApprovalStore.layerNone, AuditLog.layerNone]),
    Layer.provide([MemoryTransport.layer(), MemoryCluster.layer, MemoryMcp.layer(servers), Inputs.layer()])
  )

const test = Effect.gen(function* () {
  const asleep = yield* Queue.unbounded<void>()
  const cancelled = yield* Deferred.make<void>()
  const clock = yield* MemoryMcp.makeMemoryMcpServer({
    tools: [
      {
        definition: { name: "nap", inputSchema: { type: "object" } },
        run: ({ minutes }) =>
          Queue.offer(asleep, undefined).pipe(
            Effect.andThen(Effect.sleep(`${Number(minutes)} minutes`)),
            Effect.as({ content: [{ type: "text", text: "rested" }] }),
            Effect.onInterrupt(() => Deferred.succeed(cancelled, undefined))
          )
      }
    ]
  })

  const calls = Effect.gen(function* () {
    const agent = yield* Agent
    const nap = agent.callTool({ computer: "desk", tool: "nap", params: { minutes: 30 }, timeout: 3600 })

    // A call that takes 30 minutes. Wait for the tool before the clock moves.
    const napping = yield* Effect.forkChild(nap)
    yield* Queue.take(asleep)
    yield* TestClock.adjust("29 minutes")
    strictEqual(napping.pollUnsafe(), undefined)
    yield* TestClock.adjust("1 minute")
    const { content } = yield* Fiber.join(napping)
    deepStrictEqual(content, [{ type: "text", text: "rested" }])
    yield* Console.log("rested after 30 minutes")

    // Interrupting the call cancels it: the Computer interrupts the tool.
    const disturbed = yield* Effect.forkChild(nap)
    yield* Queue.take(asleep)
    yield* TestClock.adjust("10 minutes")
    yield* Fiber.interrupt(disturbed)
    yield* Deferred.await(cancelled)
    yield* Console.log("cancelled after 10 minutes")
  })
  yield* Effect.provide(calls, officeWith(new Map([["clock", clock]])))
})

await Effect.runPromise(Effect.provide(Effect.scoped(test), TestClock.layer()))
