import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Effect, Layer, type Scope } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { McpConnector, McpFailure, type McpSession } from "../../application/ports/McpSession.ts"
import type {
  Endpoint,
  SseParameters,
  StdioParameters,
  StreamableParameters
} from "../../domain/protocol/v0_2/parameters.ts"
import { openSession } from "./SdkSession.ts"
import { makeStdioTransport } from "./StdioTransport.ts"

/** How long taking leave of an HTTP server may take. */
const farewellTimeout = "1 second"

const parseUrl = (url: string): Effect.Effect<URL, McpFailure> =>
  Effect.try({
    try: () => new URL(url),
    catch: () => new McpFailure({ kind: "unavailable", message: "its url is no URL" })
  })

const requestInit = (headers: { readonly [name: string]: string } | null) =>
  headers === null ? {} : { requestInit: { headers: { ...headers } } }

const stdio = Effect.fnUntraced(function* (server: string, parameters: StdioParameters) {
  const { exited, transport } = yield* makeStdioTransport(server, parameters)
  return yield* openSession({ transport, ended: exited })
})

const streamable = Effect.fnUntraced(function* ({ headers, terminateOnClose, url }: StreamableParameters) {
  const transport = new StreamableHTTPClientTransport(yield* parseUrl(url), requestInit(headers))
  const farewell = terminateOnClose
    ? Effect.tryPromise(() => transport.terminateSession()).pipe(
        Effect.interruptible,
        Effect.timeoutOption(farewellTimeout),
        Effect.ignore
      )
    : Effect.void
  // The SDK's class and its own interface disagree under exactOptionalPropertyTypes.
  return yield* openSession({ transport: transport as Transport, farewell })
})

const sse = Effect.fnUntraced(function* ({ headers, url }: SseParameters) {
  const transport = new SSEClientTransport(yield* parseUrl(url), requestInit(headers))
  return yield* openSession({ transport: transport as Transport })
})

/** Opens sessions with real MCP servers: child processes, Streamable HTTP, and the older HTTP with SSE. */
export const layer: Layer.Layer<McpConnector, never, ChildProcessSpawner.ChildProcessSpawner> = Layer.effect(
  McpConnector,
  Effect.gen(function* () {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    const connect = (
      server: string,
      endpoint: Endpoint
    ): Effect.Effect<McpSession, McpFailure, Scope.Scope> => {
      switch (endpoint.type) {
        case "stdio":
          return Effect.provideService(
            stdio(server, endpoint),
            ChildProcessSpawner.ChildProcessSpawner,
            spawner
          )
        case "streamable":
          return streamable(endpoint)
        case "sse":
          return sse(endpoint)
      }
    }
    return McpConnector.of({ connect })
  })
)
