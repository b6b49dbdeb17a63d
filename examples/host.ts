/** Runs a Server, a Computer and an Agent in one process. */
import { Console, Effect, Layer, Result } from "effect"
import {
  Agent,
  agentLayer,
  AuditLog,
  Authenticator,
  computerLayer,
  parseComputerConfig,
  Policy,
  Server,
  serverLayer
} from "a2c-smcp"

const config = Result.getOrThrow(
  parseComputerConfig({
    servers: {
      memory: {
        type: "stdio",
        server_parameters: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] },
        default_tool_meta: { auto_apply: true }
      }
    }
  })
)

const program = Effect.gen(function* () {
  const agent = yield* Agent
  yield* agent.settled // waits until the tools of all Computers are fetched
  const { computers } = yield* agent.view // notifications keep it up to date
  const { content } = yield* agent.callTool({ computer: "desk", tool: "read_graph" })
  yield* Console.log([...computers.keys()], content)
})

// The layers of members need the URL of the Server, which is known once it listens.
const Members = Layer.unwrap(
  Effect.map(Server, ({ url }) =>
    agentLayer({ url, office: "team", name: "thinker" }).pipe(
      Layer.provideMerge(computerLayer({ url, office: "team", name: "desk", config }))
    )
  )
)

// Clients need no credentials. That suits a Server that only this machine reaches.
const Place = serverLayer().pipe(Layer.provide(Authenticator.layerAllowAll))
const Ports = Layer.merge(Policy.layerNone, AuditLog.layerNone)

await Effect.runPromise(Effect.provide(program, Members.pipe(Layer.provide(Place), Layer.provide(Ports))))
