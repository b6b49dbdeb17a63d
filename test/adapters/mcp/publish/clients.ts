import { PassThrough } from "node:stream"
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttpTransport
} from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { StdioServerTransport as ModernStdioTransport } from "@modelcontextprotocol/server/stdio"
import { Effect, type Fiber, Queue, type Scope } from "effect"
import { z } from "zod"
import { publishHttp, type PublishHttpOptions } from "../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { publishStdio } from "../../../../src/adapters/mcp/publish/publishStdio.ts"
import type { McpSessionError, McpProgress, McpSession } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"

interface ClientCapabilities {
  readonly extensions?: Record<string, Record<string, Array<string>>>
}

/** A client of an independent implementation, as the tests use it. */
export interface Peer {
  /** The negotiated MCP revision. */
  readonly version: string | undefined
  readonly server: JsonObject
  /** Fails with the error of the SDK; interruption cancels the request. */
  readonly request: (
    method: string,
    params?: JsonObject,
    onProgress?: (progress: McpProgress) => void
  ) => Effect.Effect<JsonObject, { readonly code: unknown; readonly message: string }>
  /** Succeeds when the resource subscription is active. */
  readonly subscribe: (uri: string) => Effect.Effect<void>
  /** The received notifications without subscription ids. */
  readonly notifications: Queue.Queue<JsonObject>
  /** Disconnects like a killed process. */
  readonly vanish: Effect.Effect<void>
}

/** Opens a client of a published session. */
type Connect = (
  session: McpSession,
  capabilities?: ClientCapabilities
) => Effect.Effect<Peer, McpSessionError, Scope.Scope>

const anyObject = z.looseObject({})

const failureOf = (error: unknown) => ({
  code: error instanceof Error && "code" in error ? error.code : undefined,
  message: error instanceof Error ? error.message : String(error)
})

const asking = (
  request: (signal: AbortSignal) => Promise<JsonObject>
): Effect.Effect<JsonObject, ReturnType<typeof failureOf>> => Effect.tryPromise({ try: request, catch: failureOf })

/** A client of the v1 SDK on a transport. */
const makeLegacyClient = (transport: Transport, vanish: () => unknown, capabilities: ClientCapabilities = {}) =>
  Effect.gen(function* () {
    const notifications = yield* Queue.unbounded<JsonObject>()
    const client = new Client({ name: "older", version: "1" }, { capabilities })
    client.fallbackNotificationHandler = async ({ method, params }) =>
      void Queue.offerUnsafe(notifications, { method, ...params })
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    const request: Peer["request"] = (method, params = {}, onprogress) =>
      asking((signal) =>
        client.request({ method, params: { ...params } }, anyObject, {
          signal,
          ...(onprogress !== undefined && { onprogress: (progress) => onprogress(progress as McpProgress) })
        })
      )
    const peer: Peer = {
      version: transport.setProtocolVersion === undefined ? undefined : "older",
      server: {
        ...client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
        instructions: client.getInstructions()
      },
      request,
      subscribe: (uri) => Effect.orDie(Effect.asVoid(request("resources/subscribe", { uri }))),
      notifications,
      vanish: Effect.promise(async () => vanish())
    }
    return peer
  })

/** A client of the v2 SDK, which detects the era of the server. */
const makeModernClient = (
  transport: Parameters<ModernClient["connect"]>[0],
  vanish: () => unknown,
  capabilities: ClientCapabilities = {}
): Effect.Effect<Peer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const notifications = yield* Queue.unbounded<JsonObject>()
    const options = { capabilities, versionNegotiation: { mode: "auto" } } as const
    const client = new ModernClient({ name: "younger", version: "1" }, options)
    for (const method of [
      "notifications/tools/list_changed",
      "notifications/resources/list_changed",
      "notifications/resources/updated"
    ] as const) {
      client.setNotificationHandler(method, ({ params }) => {
        const uri = params !== undefined && "uri" in params ? { uri: params["uri"] } : {}
        Queue.offerUnsafe(notifications, { method, ...uri })
      })
    }
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    return {
      version: client.getNegotiatedProtocolVersion(),
      server: {
        ...client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
        instructions: client.getInstructions()
      },
      request: (method, params = {}, onprogress) =>
        asking((signal) =>
          client.request({ method, params: { ...params } }, anyObject, {
            signal,
            ...(onprogress !== undefined && { onprogress: (progress) => onprogress(progress as McpProgress) })
          })
        ),
      subscribe: (uri) => Effect.asVoid(Effect.promise(() => client.listen({ resourceSubscriptions: [uri] }))),
      notifications,
      vanish: Effect.promise(async () => vanish())
    }
  })

/** The streams of a session published over stdio, and the fiber of `publishStdio`. */
export const overStreams = Effect.fnUntraced(function* (session: McpSession) {
  const stdin = new PassThrough()
  const stdout = new PassThrough()
  const published: Fiber.Fiber<void, McpSessionError> = yield* Effect.forkScoped(
    publishStdio(session, { stdin, stdout })
  )
  return { stdin, stdout, published }
})

const url = (session: McpSession, options: Partial<PublishHttpOptions> = {}) =>
  Effect.map(
    Effect.orDie(publishHttp(session, { port: 0, token: "allowAll", ...options })),
    (published) => new URL(published.url)
  )

/** A kind of client and how to open one. */
type Way = readonly [name: string, connect: Connect]

export const clientKinds: readonly [Way, ...ReadonlyArray<Way>] = [
  [
    "the v1 SDK over stdio",
    Effect.fnUntraced(function* (session, capabilities) {
      const { stdin, stdout } = yield* overStreams(session)
      return yield* makeLegacyClient(new StdioServerTransport(stdout, stdin), () => stdin.end(), capabilities)
    })
  ],
  [
    "the v2 SDK over stdio",
    Effect.fnUntraced(function* (session, capabilities) {
      const { stdin, stdout } = yield* overStreams(session)
      return yield* makeModernClient(new ModernStdioTransport(stdout, stdin), () => stdin.end(), capabilities)
    })
  ],
  [
    "the v1 SDK over HTTP",
    Effect.fnUntraced(function* (session, capabilities) {
      const transport = new StreamableHTTPClientTransport(yield* url(session))
      return yield* makeLegacyClient(transport as Transport, () => transport.close(), capabilities)
    })
  ],
  [
    "the v2 SDK over HTTP",
    Effect.fnUntraced(function* (session, capabilities) {
      const transport = new ModernHttpTransport(yield* url(session))
      return yield* makeModernClient(transport, () => transport.close(), capabilities)
    })
  ]
]

/** A client of the v1 SDK over HTTP. */
export const connectHttp = (at: string) => {
  const transport = new StreamableHTTPClientTransport(new URL(at))
  return makeLegacyClient(transport as Transport, () => transport.close())
}
