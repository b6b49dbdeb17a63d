/** Runs an office on virtual time: a call of half an hour ends at once, and every run is equal. */
import { Console, Deferred, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Authenticator, Computer, Inputs, Observability, parseComputerConfig, Server } from "a2c-smcp"
import { MemoryMcp, MemoryCluster, MemoryTransport } from "a2c-smcp/testing"

const office = "team"

const program = Effect.gen(function* () {
  const asleep = yield* Deferred.make<void>()
  const clock = yield* MemoryMcp.makeMemoryMcpServer({
    tools: [
      {
        definition: { name: "nap", inputSchema: { type: "object" } },
        run: () =>
          Deferred.succeed(asleep, undefined).pipe(
            Effect.andThen(Effect.sleep("30 minutes")),
            Effect.as({ content: [{ type: "text", text: "rested" }] })
          )
      }
    ]
  })
  const config = Result.getOrThrow(
    parseComputerConfig({
      servers: {
        clock: {
          type: "stdio",
          server_parameters: { command: "in memory" },
          default_tool_meta: { auto_apply: true }
        }
      }
    })
  )
  const Office = Agent.layer({ office, name: "thinker" }).pipe(
    Layer.provideMerge(Computer.layer({ office, name: "desk", config })),
    Layer.provideMerge(Server.layer),
    Layer.provide([Authenticator.layerAllowAll, Observability.layer]),
    Layer.provide(MemoryTransport.layer()),
    Layer.provide(MemoryCluster.layer),
    Layer.provide(MemoryMcp.layer(new Map([["clock", clock]]))),
    Layer.provide(Inputs.layer())
  )

  const call = Effect.gen(function* () {
    const agent = yield* Agent
    const napping = yield* Effect.forkChild(agent.callTool({ computer: "desk", tool: "nap", timeout: 3600 }))
    yield* Deferred.await(asleep)
    yield* TestClock.adjust("29 minutes")
    yield* Console.log(`after 29 minutes: ${napping.pollUnsafe() === undefined ? "asleep" : "awake"}`)
    yield* TestClock.adjust("1 minute")
    const { content } = yield* Fiber.join(napping)
    yield* Console.log(`after 30 minutes: ${String(content[0]?.["text"])}`)
  })
  yield* Effect.provide(call, Office)
})

await Effect.runPromise(Effect.provide(Effect.scoped(program), TestClock.layer()))
