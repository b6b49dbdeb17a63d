/** A small office in memory for the other examples: a Server, a Computer with one tool, an Agent. */
import { Effect, Layer, Result } from "effect"
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
import { MemoryMcp, MemoryCluster, MemoryTransport } from "a2c-smcp/testing"

const office = "team"

const config = Result.getOrThrow(
  parseComputerConfig({
    servers: {
      weather: {
        type: "stdio",
        server_parameters: { command: "in memory" },
        default_tool_meta: { auto_apply: true }
      }
    }
  })
)

/** An MCP server with one tool. */
export const weather = MemoryMcp.makeMemoryMcpServer({
  tools: [
    {
      definition: {
        name: "temperature",
        description: "How warm it is in a city",
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
      },
      run: ({ city }) => Effect.succeed({ content: [{ type: "text", text: `It is 21 °C in ${String(city)}` }] })
    }
  ]
})

/** The Agent of the office, with all of its dependencies. */
export const Office = Layer.unwrap(
  Effect.map(weather, (server) =>
    Agent.layer({ office, name: "thinker" }).pipe(
      Layer.provideMerge(Computer.layer({ office, name: "desk", config })),
      Layer.provide(Server.layer),
      Layer.provide([Authenticator.layerAllowAll, Observability.layer]),
      Layer.provide([Policy.layerNone, SchemaValidator.layerAllowAll, ApprovalStore.layerNone, AuditLog.layerNone]),
      Layer.provide(MemoryTransport.layer()),
      Layer.provide(MemoryCluster.layer),
      Layer.provide(MemoryMcp.layer(new Map([["weather", server]]))),
      Layer.provide(Inputs.layer())
    )
  )
)
