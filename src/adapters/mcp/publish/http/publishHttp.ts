import type { IncomingMessage, ServerResponse } from "node:http"
import { Data, Effect, type Redacted, type Scope } from "effect"
import type { McpSessionError, McpSession } from "../../../../application/ports/McpSession.ts"
import { crossOriginOf, isLoopbackHost } from "../../../http/hostAccess.ts"
import { cannot, listen, makeHttpServer, listeningUrl } from "../../../http/httpServer.ts"
import { defaultMaxUnreadBytes, limitUnreadResponses } from "../../../http/unreadResponses.ts"
import { corsHeaders, type AccessPolicy, checkAccess, checkTokenOption } from "../../../auth/AccessPolicy.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { jsonRpcErrorResponse } from "./webHandler.ts"
import { makeMcpHttpHandler, type McpHttpLimits } from "./McpHttpHandler.ts"

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
const earlyResponseTo = (
  policy: AccessPolicy,
  { headers, method, url = "/" }: IncomingMessage
): Response | undefined => {
  const isPreflight = method === "OPTIONS" && crossOriginOf(headers) !== undefined
  const denied = checkAccess(isPreflight ? { ...policy, token: "allowAll" } : policy, headers)
  if (denied !== undefined) {
    const challenge: Record<string, string> = denied.status === 401 ? { "WWW-Authenticate": "Bearer" } : {}
    return jsonRpcErrorResponse(denied.status, jsonRpcCodes.connectionClosed, denied.message, challenge)
  }
  if (!isMcpPath(url.split("?")[0])) {
    return jsonRpcErrorResponse(404, jsonRpcCodes.connectionClosed, `MCP is served at ${mcpPath}`)
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
