/** Offers functions of this program in an office: a tool, and a window that the Agent sees on the desktop. */
import { Console, Effect, Layer, Schema, Stream } from "effect"
import {
  Agent,
  agentLayer,
  AuditLog,
  Authenticator,
  computerLayer,
  makeFunctions,
  Policy,
  Server,
  serverLayer
} from "a2c-smcp"
import { defineTool, ToolError } from "a2c-smcp/tools"

const lamps = new Map([["desk", "off"]])

/** The functions as an MCP session: a tool that switches lamps, and a window that shows them. */
const makeLamps = Effect.gen(function* () {
  const { changed, offer, session } = yield* makeFunctions({
    name: "lamps",
    windows: [{ name: "lamps", text: () => [...lamps].map(([lamp, state]) => `${lamp}: ${state}`).join("\n") }]
  })
  const switchLamp = defineTool({
    name: "switch_lamp",
    description: "Switches a lamp on or off",
    params: Schema.Struct({ lamp: Schema.String, state: Schema.Literals(["on", "off"]) }),
    run: ({ lamp, state }) => {
      if (!lamps.has(lamp)) throw new ToolError(`There is no lamp ${lamp}`)
      lamps.set(lamp, state)
      changed("lamps")
      return `The lamp ${lamp} is ${state}`
    }
  })
  offer({ tools: [switchLamp] })
  return session
})

const program = Effect.gen(function* () {
  const agent = yield* Agent
  yield* agent.settled
  for (const lamp of ["desk", "attic"]) {
    const { content, isError } = yield* agent.callTool({
      computer: "home",
      tool: "switch_lamp",
      params: { lamp, state: "on" }
    })
    for (const block of content) if (block.type === "text") yield* Console.log(isError ? "failed:" : "", block.text)
  }
  // The view follows the desktop: no request asks for it again.
  yield* agent.changesOf("home").pipe(
    Stream.map((home) => home?.desktop?.join() ?? ""),
    Stream.filter((desktop) => desktop.includes("desk: on")),
    Stream.take(1),
    Stream.runForEach((desktop) => Console.log(desktop))
  )
})

const Members = Layer.unwrap(
  Effect.gen(function* () {
    const { url } = yield* Server
    const place = { url, office: "team" }
    const Home = computerLayer({
      ...place,
      name: "home",
      config: { inputs: [], servers: {} },
      sessions: { lamps: yield* makeLamps },
      confirm: ({ tool }) => Effect.succeed(tool === "switch_lamp")
    })
    return agentLayer({ ...place, name: "thinker" }).pipe(Layer.provideMerge(Home))
  })
)
const Place = serverLayer().pipe(Layer.provide(Authenticator.layerAllowAll))
const Ports = Layer.merge(Policy.layerNone, AuditLog.layerNone)

await Effect.runPromise(Effect.provide(program, Members.pipe(Layer.provide(Place), Layer.provide(Ports))))
