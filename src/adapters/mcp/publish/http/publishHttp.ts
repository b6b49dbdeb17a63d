import type { IncomingMessage, ServerResponse } from "node:http"
import { once } from "node:events"
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server"
import { Deferred, Effect, FiberSet, Match, type Scope, Data, type Redacted } from "effect"
import type { McpSession, McpSessionError } from "../../../../application/ports/McpSession.ts"
import { type HeadersDecision, runWebHandler, type WebHandler, jsonRpcErrorResponse } from "./webHandler.ts"
import { type LegacySessionLimits, makeLegacyHandler } from "./legacyHandler.ts"
import { httpNetwork } from "../../mcpTelemetry.ts"
import { makePublishedSession, type PublishedSession } from "../PublishedSession.ts"
import { asObject } from "../../../../domain/json.ts"
import { decodeListenRequest, watchResources } from "../ChangeFeed.ts"
import { crossOriginOf, isLoopbackHost } from "../../../http/hostAccess.ts"
import { cannot, listen, makeHttpServer, listeningUrl } from "../../../http/httpServer.ts"
import { defaultMaxUnreadBytes, limitUnreadResponses } from "../../../http/unreadResponses.ts"
import { corsHeaders, type AccessPolicy, checkAccess, checkTokenOption } from "../../../auth/AccessPolicy.ts"

export interface McpHttpLimits extends LegacySessionLimits {
  /** Largest message of a client in bytes; 16 MiB by default, because arguments may contain files. */
  readonly maxMessageBytes?: number
  /** Bytes of all messages in progress, 256 MiB by default; a message may have as much as is free. */
  readonly maxTotalMessageBytes?: number
}

/** Handles a request whose body is not read yet. */
export type McpHttpHandler = (request: IncomingMessage, response: ServerResponse, decision: HeadersDecision) => void

/** Ends a failed request: its client disconnected, or a defect occurred. */
const abortExchange = Effect.fnUntraced(function* (response: ServerResponse, cause: unknown) {
  if (response.destroyed) return yield* Effect.logDebug("MCP client disconnected", { reason: String(cause) })
  if (response.headersSent) response.destroy()
  else response.writeHead(500).end()
  return yield* Effect.logError("MCP HTTP request failed", cause)
})

/**
 * Serves a session over Streamable HTTP in any MCP revision up to 2026-07-28. The HTTP server belongs to the
 * caller, which also checks access. The calls of a closed connection are interrupted because their responses
 * would be lost. Closing the scope ends all sessions and calls.
 */
export const makeMcpHttpHandler = Effect.fnUntraced(function* (
  session: McpSession,
  { maxMessageBytes = 16 * 1024 * 1024, maxTotalMessageBytes = 256 * 1024 * 1024, ...sessionLimits }: McpHttpLimits
): Effect.fn.Return<McpHttpHandler, McpSessionError, Scope.Scope> {
  const publishedSession = yield* makePublishedSession(session, httpNetwork())
  const run = yield* FiberSet.makeRuntime()
  const modern = yield* makeModernHandler(publishedSession, session.info.capabilities.subscribe)
  const legacy = yield* makeLegacyHandler(publishedSession, sessionLimits)
  const handler: WebHandler = async (request, body) =>
    (await isLegacyRequest(request, body)) ? legacy(request, body) : modern(request, body)

  const limits = { maxBytes: maxMessageBytes, budget: { maxBytes: maxTotalMessageBytes, usedBytes: 0 } }

  return (request, response, decision) =>
    void run(
      Effect.catch(
        Effect.tryPromise(() => runWebHandler(request, response, decision, handler, limits)),
        ({ cause }) => abortExchange(response, cause)
      )
    )
})

/** Serves the MCP revision without sessions (2026-07-28), with one SDK server per request. */
const makeModernHandler = Effect.fnUntraced(function* (
  { changes, makeRequestServer, run, fork }: PublishedSession,
  subscribe: boolean
): Effect.fn.Return<WebHandler, never, Scope.Scope> {
  const { fetch, notify } = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createMcpHandler(({ requestInfo }) => makeRequestServer(requestInfo?.headers.get("mcp-method")), {
        legacy: "reject",
        // Streams at once: a client that receives no bytes would time out.
        responseMode: "sse",
        onerror: (error) => fork(Effect.logDebug("MCP HTTP transport error", { reason: error.message }))
      })
    ),
    (handler) => Effect.ignore(Effect.tryPromise(() => handler.close()))
  )
  const notifications = {
    ToolsChanged: () => notify.toolsChanged(),
    PromptsChanged: () => notify.promptsChanged(),
    ResourcesChanged: () => notify.resourcesChanged(),
    ResourceUpdated: ({ uri }: { readonly uri: string }) => notify.resourceUpdated(uri),
    Logged: () => undefined
  }
  yield* changes.subscribe((change) => Effect.sync(() => Match.valueTags(change, notifications)))

  /** Watches the resources of a listen request from before it is acknowledged until its connection closes. */
  const watchUntilClosed = Effect.fnUntraced(function* (uris: ReadonlyArray<string>, { signal }: Request, id: unknown) {
    const started = yield* Deferred.make<Response | undefined>()
    const start = (response?: Response) => Deferred.succeed(started, response)
    const closed = Effect.promise(async () => signal.aborted || (await once(signal, "abort")))
    const watching = watchResources(changes, uris).pipe(
      Effect.andThen(start()),
      Effect.andThen(Effect.never),
      Effect.catch(({ code, message }) => start(Response.json({ jsonrpc: "2.0", id, error: { code, message } }))),
      Effect.scoped
    )
    fork(Effect.andThen(Effect.raceFirst(watching, closed), start()))
    return yield* Deferred.await(started)
  })

  return async (request, body) => {
    const uris = subscribe ? decodeListenRequest(body) : undefined
    const errorResponse =
      uris === undefined ? undefined : await run(watchUntilClosed(uris, request, asObject(body)["id"]))
    return errorResponse ?? fetch(request, { parsedBody: body })
  }
})

export interface PublishHttpOptions extends McpHttpLimits {
  /** The address to listen on; `127.0.0.1` by default. */
  readonly host?: string
  /** 0 picks a free port. */
  readonly port: number
  /** The bearer token that clients must send. `"allowAll"` admits every client, which suits loopback only. */
  readonly token: Redacted.Redacted<string> | "allowAll"
  /** Accepted host names without port, in addition to `localhost` and IP addresses. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** Bytes of responses that all clients together have not read, 256 MiB by default; beyond it the slowest are closed. */
  readonly maxUnreadBytes?: number
  /** Origins of other pages that may connect, such as `https://app.example.org`. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** Handles requests for other paths, with its own access control; false leaves a request to this server. */
  readonly handleOther?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** The server cannot listen on the address. */
export class PublishError extends Data.TaggedError("PublishError")<{ readonly message: string }> {}

const mcpPath = "/mcp"

/** True for the path of MCP, also with a slash at its end. */
export const isMcpPath = (path: string | undefined): boolean => path === mcpPath || path === `${mcpPath}/`

/** In milliseconds. */
const requestTimeouts = { headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 1000 }

/** Milliseconds without traffic; streams send data every 15 seconds. */
const connectionIdleTimeout = 60_000

/** Legacy clients use one connection for their stream and more for requests. */
const maxConnections = 1024

/** The response to a request that is denied, for another path, or a CORS preflight. */
const earlyResponseTo = (policy: AccessPolicy, { headers, method, url = "/" }: IncomingMessage) => {
  const isPreflight = method === "OPTIONS" && crossOriginOf(headers) !== undefined
  const denied = checkAccess(isPreflight ? { ...policy, token: "allowAll" } : policy, headers)
  if (denied !== undefined) {
    const challenge: Record<string, string> = denied.status === 401 ? { "WWW-Authenticate": "Bearer" } : {}
    return jsonRpcErrorResponse(denied.status, "connectionClosed", denied.message, challenge)
  }
  if (!isMcpPath(url.split("?")[0])) {
    return jsonRpcErrorResponse(404, "connectionClosed", `MCP is served at ${mcpPath}`)
  }
  return isPreflight ? new Response(null, { status: 204 }) : undefined
}

/**
 * Serves a session as an MCP server over Streamable HTTP at `/mcp`, in any MCP revision up to 2026-07-28, and
 * returns the URL. The calls of a closed connection are interrupted because their responses would be lost.
 * After the session closes, every request fails. Closing the scope ends everything.
 */
export const publishHttp = Effect.fn("publishHttp")(function* (
  session: McpSession,
  {
    allowedHosts = [],
    allowedOrigins = [],
    handleOther = () => false,
    host = "127.0.0.1",
    maxUnreadBytes = defaultMaxUnreadBytes,
    port,
    token,
    ...limits
  }: PublishHttpOptions
): Effect.fn.Return<{ readonly url: string }, McpSessionError | PublishError, Scope.Scope> {
  const problem = checkTokenOption("The token of MCP clients", token)
  if (problem !== undefined) return yield* new PublishError({ message: problem })
  const policy: AccessPolicy = {
    allowedHosts: [...allowedHosts, host].map((name) => name.toLowerCase()),
    allowedOrigins,
    token
  }
  const http = yield* makeHttpServer({
    ...requestTimeouts,
    idleTimeout: connectionIdleTimeout,
    maxConnections
  })
  yield* limitUnreadResponses(http, maxUnreadBytes)
  const handle = yield* makeMcpHttpHandler(session, limits)
  http.on("request", (request, response) => {
    if (handleOther(request, response)) return
    handle(request, response, {
      earlyResponse: earlyResponseTo(policy, request),
      headers: corsHeaders(policy, request.headers)
    })
  })
  const bound = yield* listen(http, { host, port }, cannot("serve MCP", PublishError))
  if (!isLoopbackHost(bound.address)) {
    yield* Effect.logWarning(
      token === "allowAll"
        ? "published tools are reachable without a token"
        : "token and calls are sent unencrypted to other machines",
      { address: bound.address }
    )
  }
  return { url: `${listeningUrl("http", bound)}${mcpPath}` }
})
