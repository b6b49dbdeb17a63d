/**
 * Measures whether the memory of a published office stays flat. 10 000 Computers join, offer one tool, and leave, one
 * after the other. A client of the published office lists its tools every time.
 * Usage: node bench/officeSoak.ts [ROUNDS]
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Context, Effect, Layer, References, Result, Scope } from "effect"
import { publishHttp } from "../src/adapters/mcp/publish/http/publishHttp.ts"
import * as MemoryMcp from "../src/adapters/memory/MemoryMcp.ts"
import * as MemoryCluster from "../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../src/adapters/memory/MemoryTransport.ts"
import { Agent } from "../src/application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../src/application/bridge/OfficeMcpSession.ts"
import { Computer } from "../src/application/computer/Computer.ts"
import { Inputs } from "../src/application/computer/inputs/Inputs.ts"
import { Server } from "../src/application/server/lifecycle/Server.ts"
import { parseComputerConfig } from "../src/domain/config/parseConfig.ts"
import { soak } from "./soak.ts"
import { Authenticator } from "../src/application/ports/Authenticator.ts"
import { Observability } from "../src/application/server/observability/Observability.ts"
import { portDefaults } from "../test/portDefaults.ts"

const rounds = Number(process.argv[2] ?? 10_000)
const office = "soak"

const config = Result.getOrThrow(
  parseComputerConfig({ servers: { memory: { type: "stdio", server_parameters: { command: "memory" } } } })
)

const program = Effect.gen(function* () {
  const place = yield* Layer.build(
    Server.layer.pipe(
      Layer.provide([MemoryCluster.layer, Authenticator.layerAllowAll, Observability.layerNone]),
      Layer.provideMerge(MemoryTransport.layer())
    )
  )
  const memory = yield* MemoryMcp.makeMemoryMcpServer({
    tools: [
      {
        definition: { name: "tool", description: "x".repeat(1000), inputSchema: { type: "object" } },
        run: () => Effect.succeed({ content: [] })
      }
    ]
  })
  const agent = Context.get(
    yield* Agent.layer({ office, name: "bridge" }).pipe(Layer.provide(Layer.succeedContext(place)), Layer.build),
    Agent
  )
  const session = yield* Effect.provideService(makeOfficeMcpSession({ office }), Agent, agent)
  const { url } = yield* publishHttp(session, { port: 0, token: "allowAll" })
  const client = new Client({ name: "soak", version: "0" })
  yield* Effect.promise(() => client.connect(new StreamableHTTPClientTransport(new URL(url))))
  const computer = (name: string) =>
    Computer.layer({ office, name, config }).pipe(
      Layer.provide(MemoryMcp.layer(new Map([["memory", memory]]))),
      Layer.provide([Inputs.layer(), portDefaults]),
      Layer.provide(Layer.succeedContext(place)),
      Layer.fresh
    )

  yield* soak("office", rounds, (round) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(computer(`computer-${round}`), scope)
      const { tools } = yield* Effect.promise(() => client.listTools())
      if (!tools.some(({ name }) => name === `computer-${round}__tool`)) return yield* Effect.die("the tool is missing")
      yield* Scope.close(scope, yield* Effect.exit(Effect.void))
    })
  )
  yield* Effect.promise(() => client.close())
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None")))
process.exit(0)
