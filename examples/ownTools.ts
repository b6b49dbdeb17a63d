/** Offers tools of this program in an office: an MCP session in this process takes the place of an MCP server. */
import { Console, Effect, Layer } from "effect"
import {
  Agent,
  agentLayer,
  AuditLog,
  Authenticator,
  computerLayer,
  makeToolsSession,
  Policy,
  Server,
  serverLayer
} from "a2c-smcp"

const lamps = new Map([["desk", "off"]])

const text = (value: string) => ({ type: "text", text: value })

const session = makeToolsSession({
  name: "lamps",
  tools: [
    {
      definition: {
        name: "switch_lamp",
        description: "Switches a lamp on or off",
        inputSchema: {
          type: "object",
          properties: { lamp: { type: "string" }, state: { enum: ["on", "off"] } },
          required: ["lamp", "state"]
        }
      },
      // The Computer has checked the params against the schema. Interruption of this effect is the cancellation.
      run: ({ lamp, state }) =>
        Effect.sync(() => {
          const name = String(lamp)
          if (!lamps.has(name)) return { content: [text(`There is no lamp ${name}`)], isError: true }
          lamps.set(name, String(state))
          return { content: [text(`The lamp ${name} is ${String(state)}`)] }
        })
    }
  ]
})

const program = Effect.gen(function* () {
  const agent = yield* Agent
  const { content } = yield* agent.callTool({
    computer: "home",
    tool: "switch_lamp",
    params: { lamp: "desk", state: "on" }
  })
  for (const block of content) {
    if (block.type === "text") yield* Console.log(block.text)
  }
  const failed = yield* agent.callTool({
    computer: "home",
    tool: "switch_lamp",
    params: { lamp: "attic", state: "on" }
  })
  yield* Console.log(failed.isError, failed.content)
})

const Members = Layer.unwrap(
  Effect.map(Server, ({ url }) => {
    const place = { url, office: "team" }
    const Home = computerLayer({
      ...place,
      name: "home",
      config: { inputs: [], servers: {} },
      sessions: { lamps: session },
      confirm: ({ tool }) => Effect.succeed(tool === "switch_lamp")
    })
    return agentLayer({ ...place, name: "thinker" }).pipe(Layer.provideMerge(Home))
  })
)
const Place = serverLayer().pipe(Layer.provide(Authenticator.layerAllowAll))
const Ports = Layer.merge(Policy.layerNone, AuditLog.layerNone)

await Effect.runPromise(Effect.provide(program, Members.pipe(Layer.provide(Place), Layer.provide(Ports))))
