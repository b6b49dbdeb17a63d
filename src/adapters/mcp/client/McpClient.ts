import { Effect, Exit, Layer, Result, Scope } from "effect"
import { ChildProcessSpawner } from "effect/process"
import type { CredentialStore } from "../../../application/ports/CredentialStore.ts"
import {
  McpConnector,
  type McpSession,
  type McpSessionError,
  sessionError
} from "../../../application/ports/McpSession.ts"
import type { Endpoint, SseParameters, StreamableParameters } from "../../../domain/config/endpointParameters.ts"
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

/** Tries the legacy era first, which most servers support. The modern client is loaded on demand. */
const openByPost = Effect.fnUntraced(function* (parameters: StreamableParameters, wrap: WrapFetch) {
  const url = yield* parseEndpointUrl(parameters)
  const legacyScope = yield* Scope.fork(yield* Effect.scope)
  return yield* Effect.flatMap(makeStreamableHttpTransport(url, parameters, wrap), openLegacySession).pipe(
    Scope.provide(legacyScope),
    Effect.catchIf(
      ({ code }) => handshakeRejectedCodes.includes(code),
      (legacyFailure) =>
        Scope.close(legacyScope, Exit.void).pipe(
          Effect.andThen(Effect.promise(() => import("./modern/openModernSession.ts"))),
          Effect.flatMap(({ openModernSession }) => openModernSession(url, parameters, wrap)),
          // For a server of neither era, its first error is the useful one.
          Effect.mapError((failure) =>
            legacyFailure.code === jsonRpcCodes.unsupportedProtocolVersion ? failure : legacyFailure
          )
        )
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
  wrap: WrapFetch
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
  return yield* openByPost(parameters, observe).pipe(
    Scope.provide(postScope),
    Effect.catchIf(() => rejectsTransport(firstStatus), openOlder)
  )
})

const makeConnector = (withAuthorization: Authorizer) =>
  Effect.gen(function* () {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    const connect = (server: string, endpoint: Endpoint): Effect.Effect<McpSession, McpSessionError, Scope.Scope> => {
      switch (endpoint.type) {
        case "stdio":
          return Effect.flatMap(makeStdioTransport(server, endpoint), openLegacySession).pipe(
            Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner)
          )
        case "streamable":
          return withAuthorization(server, endpoint, (wrap) => openStreamableHttp(server, endpoint, wrap))
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

/** Opens the same sessions and authorizes them with OAuth where a server requires it. */
export const layerWithOAuth = (
  options: AuthorizerOptions = {}
): Layer.Layer<McpConnector, never, ChildProcessSpawner.ChildProcessSpawner | CredentialStore> =>
  Layer.effect(McpConnector, Effect.flatMap(makeAuthorizer(options), makeConnector))
