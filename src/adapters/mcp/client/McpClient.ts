import { Effect, Exit, Layer, Result, Scope } from "effect"
import { ChildProcessSpawner } from "effect/process"
import {
  McpConnector,
  type McpSession,
  type McpSessionError,
  sessionError
} from "../../../application/ports/McpSession.ts"
import type {
  Endpoint,
  McpRevision,
  SseParameters,
  StreamableParameters
} from "../../../domain/config/endpointParameters.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { type Authorizer, type AuthorizerOptions, makeAuthorizer, type WrapFetch } from "../oauth/Authorizer.ts"
import { makeSseTransport, makeStreamableHttpTransport } from "./http/httpTransports.ts"
import { openLegacySession } from "./openLegacySession.ts"
import { makeStdioTransport } from "./stdio/StdioTransport.ts"

/** Error codes of servers without the `initialize` handshake (MCP 2026-07-28 and later). */
const handshakeRejectedCodes: ReadonlyArray<number | undefined> = [
  jsonRpcCodes.unsupportedProtocolVersion,
  jsonRpcCodes.methodNotFound,
  jsonRpcCodes.invalidParams,
  jsonRpcCodes.missingHeader
]

/** Parses the URL and checks the headers first: Node's error would quote the value of an invalid one. */
const parseEndpointUrl = Effect.fnUntraced(function* ({ headers, url }: SseParameters) {
  for (const header of Object.entries(headers ?? {})) {
    if (Result.isFailure(Result.try(() => new Headers([header])))) {
      const name = JSON.stringify(header[0])
      return yield* sessionError("unavailable", `header ${name} is invalid: check its name and value`)
    }
  }
  return URL.parse(url) ?? (yield* sessionError("unavailable", "url is not a valid URL"))
})

const openSse = (parameters: SseParameters, wrap: WrapFetch, endpointTimeout: number) =>
  parseEndpointUrl(parameters).pipe(
    Effect.flatMap((url) => makeSseTransport(url, parameters, wrap, endpointTimeout)),
    Effect.flatMap(openLegacySession)
  )

/** Opens a session of the wanted era, and of the other one when the server refuses it. The modern client is loaded on demand. */
const openByPost = Effect.fnUntraced(function* (
  parameters: StreamableParameters,
  wrap: WrapFetch,
  revision: McpRevision | undefined
) {
  const url = yield* parseEndpointUrl(parameters)
  const outer = yield* Effect.scope
  /** A failure closes what it opened. */
  const attempt = (session: Effect.Effect<McpSession, McpSessionError, Scope.Scope>) =>
    Effect.flatMap(Scope.fork(outer), (scope) =>
      Effect.tapError(Scope.provide(session, scope), () => Scope.close(scope, Exit.void))
    )
  const legacy = attempt(Effect.flatMap(makeStreamableHttpTransport(url, parameters, wrap), openLegacySession))
  const modern = attempt(
    Effect.flatMap(
      Effect.promise(() => import("./modern/openModernSession.ts")),
      ({ openModernSession }) => openModernSession(url, parameters, wrap)
    )
  )
  if (revision === "2026-07-28") {
    const isRefused = ({ reason }: McpSessionError) => reason !== "unauthorized" && reason !== "forbidden"
    return yield* Effect.catchIf(modern, isRefused, () => legacy)
  }
  return yield* Effect.catchIf(
    legacy,
    ({ code }) => handshakeRejectedCodes.includes(code),
    (legacyFailure) =>
      // For a server of neither era, its first error is the useful one.
      Effect.mapError(modern, (failure) =>
        legacyFailure.code === jsonRpcCodes.unsupportedProtocolVersion ? failure : legacyFailure
      )
  )
})

/**
 * True for a status of a POST by which a server rejects the transport, not for authorization, timeouts and rate limits. Some
 * HTTP servers know no POST (501).
 */
const rejectsTransport = (status = 0): boolean =>
  status === 501 || (status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status))

/**
 * In milliseconds: how long a server may take to name the endpoint of the older transport. The first is shorter than the
 * default timeout of a connection, whose message would not name the cause.
 */
const endpointTimeouts = { configured: 50_000, attempted: 5000 }

/**
 * Opens a session over Streamable HTTP. A server that rejects the first POST may offer HTTP with SSE, the older transport, at
 * the same URL (MCP, backwards compatibility of transports). Fails with the first failure when it does not.
 */
const openStreamableHttp = Effect.fnUntraced(function* (
  server: string,
  parameters: StreamableParameters,
  wrap: WrapFetch,
  revision: McpRevision | undefined
) {
  let firstStatus: number | undefined
  const observe: WrapFetch = (fetch) => async (input, init) => {
    const response = await wrap(fetch)(input, init)
    if (init?.method === "POST") firstStatus ??= response.status
    return response
  }
  const postScope = yield* Scope.fork(yield* Effect.scope)
  const openOlder = (failure: McpSessionError) =>
    Scope.close(postScope, Exit.void).pipe(
      Effect.andThen(openSse(parameters, wrap, endpointTimeouts.attempted)),
      Effect.mapError((other) => (["unauthorized", "forbidden"].includes(other.reason) ? other : failure)),
      Effect.tap(() => Effect.logWarning("MCP server offers only the older transport: set its type to sse", { server }))
    )
  return yield* openByPost(parameters, observe, revision).pipe(
    Scope.provide(postScope),
    Effect.catchIf(() => rejectsTransport(firstStatus), openOlder)
  )
})

const makeConnector = (withAuthorization: Authorizer, revision?: McpRevision) =>
  Effect.gen(function* () {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    const connect = (server: string, endpoint: Endpoint): Effect.Effect<McpSession, McpSessionError, Scope.Scope> => {
      switch (endpoint.type) {
        case "stdio":
          return Effect.flatMap(makeStdioTransport(server, endpoint), openLegacySession).pipe(
            Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner)
          )
        case "streamable":
          return withAuthorization(server, endpoint, (wrap) => openStreamableHttp(server, endpoint, wrap, revision))
        case "sse":
          return withAuthorization(server, endpoint, (wrap) => openSse(endpoint, wrap, endpointTimeouts.configured))
      }
    }
    return McpConnector.of({ connect })
  })

/** Opens sessions over stdio, Streamable HTTP, and HTTP with SSE. */
export const layer: Layer.Layer<McpConnector, never, ChildProcessSpawner.ChildProcessSpawner> = Layer.effect(
  McpConnector,
  makeConnector((_server, _endpoint, open) => open((fetch) => fetch))
)

export interface McpClientOptions extends AuthorizerOptions {
  /** The revision that servers over Streamable HTTP are asked for first; 2025-11-25 by default. */
  readonly mcpRevision?: McpRevision | undefined
}

/** Opens the same sessions and authorizes them with OAuth where a server requires it. */
export const layerWithOAuth = ({ mcpRevision, ...options }: McpClientOptions = {}) =>
  Layer.effect(
    McpConnector,
    Effect.flatMap(makeAuthorizer(options), (authorizer) => makeConnector(authorizer, mcpRevision))
  )
