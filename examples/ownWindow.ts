/** Offers a tool and a window of this program in an office: an own MCP session, whose text the Agent sees on the desktop. */
import { Console, Effect, Layer, PubSub, Stream } from "effect"
import {
  Agent,
  agentLayer,
  AuditLog,
  Authenticator,
  computerLayer,
  type McpChange,
  type McpSession,
  McpSessionError,
  Policy,
  Server,
  serverLayer
} from "a2c-smcp"

const window = "window://com.example.oven/display"

/** An oven: `heat` sets its temperature, and its display is a window. */
const makeOven = Effect.gen(function* () {
  const changes = yield* PubSub.sliding<McpChange>(16)
  let display = "The oven is off"

  const session: McpSession = {
    info: {
      name: "oven",
      version: "1.0.0",
      protocolVersion: undefined,
      capabilities: { tools: true, resources: true, subscribe: true },
      instructions: undefined
    },
    listTools: () => {
      const inputSchema = { type: "object", properties: { degrees: { type: "integer" } }, required: ["degrees"] }
      return Effect.succeed({
        items: [{ name: "heat", description: "Heats the oven", inputSchema }],
        nextCursor: undefined
      })
    },
    callTool: (_, { degrees }) =>
      Effect.gen(function* () {
        display = `The oven heats to ${String(degrees)} °C`
        yield* PubSub.publish(changes, { _tag: "ResourceUpdated", uri: window })
        return { content: [{ type: "text", text: "done" }] }
      }),
    listResources: () =>
      Effect.succeed({ items: [{ uri: window, name: "display", mimeType: "text/plain" }], nextCursor: undefined }),
    readResource: (uri) =>
      uri === window
        ? Effect.succeed([{ uri, mimeType: "text/plain", text: display }])
        : Effect.fail(
            new McpSessionError({ reason: "protocol", code: -32_002, message: `There is no resource ${uri}` })
          ),
    // The Computer subscribes to its windows, and reads one again after each change.
    watch: ({ uris }) =>
      Effect.map(PubSub.subscribe(changes), (subscription) =>
        Stream.filter(
          Stream.fromSubscription(subscription),
          (change) => change._tag === "ResourceUpdated" && uris.includes(change.uri)
        )
      ),
    ping: Effect.void,
    closed: Effect.never
  }
  return session
})

const program = Effect.gen(function* () {
  const agent = yield* Agent
  yield* agent.settled
  yield* Console.log(...(yield* agent.getDesktop("home")))
  yield* agent.callTool({ computer: "home", tool: "heat", params: { degrees: 180 } })
  // The view follows the desktop: no request asks for it again.
  yield* agent.changesOf("home").pipe(
    Stream.map((home) => home?.desktop?.join() ?? ""),
    Stream.filter((desktop) => desktop.includes("180")),
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
      sessions: { oven: yield* makeOven },
      confirm: () => Effect.succeed(true)
    })
    return agentLayer({ ...place, name: "thinker" }).pipe(Layer.provideMerge(Home))
  })
)
const Place = serverLayer().pipe(Layer.provide(Authenticator.layerAllowAll))
const Ports = Layer.merge(Policy.layerNone, AuditLog.layerNone)

await Effect.runPromise(Effect.provide(program, Members.pipe(Layer.provide(Place), Layer.provide(Ports))))
