import { createServer, type IncomingMessage } from "node:http"
import { Data, Duration, Effect, FiberSet, type Redacted, type Scope } from "effect"
import type { McpSessionError, McpSession } from "../../../../application/ports/McpSession.ts"
import { crossOriginOf, isLoopbackAddress } from "../../../http/hostAccess.ts"
import { listen } from "../../../http/listen.ts"
import { corsHeaders, type AccessPolicy, checkAccess } from "../../../http/AccessPolicy.ts"
import { jsonRpcErrorResponse } from "./webHandler.ts"
import { makeMcpHttpHandler } from "./McpHttpHandler.ts"

/** What an operator may set about a session that is published over HTTP. */
export interface PublishHttpOptions {
  /** The address to listen on; only this machine reaches `127.0.0.1`, which it is unless set. */
  readonly host?: string
  /** 0 picks a free port. */
  readonly port: number
  /** What clients must show as bearer token; anybody may come in unless set. */
  readonly token?: Redacted.Redacted<string>
  /** Names under which clients address this server, without port, beside `localhost` and plain addresses. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** Origins of pages that may connect, such as `https://app.example.org`; none but its own unless set. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** How large one message of a client may be, in bytes; 16 MiB unless set, because arguments may hold files. */
  readonly maxMessageBytes?: number
  /** How many clients of revisions with sessions there may be at once; 256 unless set. */
  readonly maxSessions?: number
  /** How long a session lasts of which nothing is heard and which listens to nothing; 30 minutes unless set. */
  readonly idleTimeout?: Duration.Input
}

/** The session cannot be published there: the address is no good. The message says which and why. */
export class PublishError extends Data.TaggedError("PublishFailed")<{ readonly message: string }> {}

/** Where MCP is served. */
const mcpPath = "/mcp"

/** How long a peer may take to send its headers, and its whole request, in milliseconds. */
const requestTimeouts = { headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 1000 }

/** A connection on which nothing moves for so long is cut, in milliseconds; streams say something every 15 seconds. */
const connectionIdleTimeout = 60_000

/** How many connections there may be at once: a client of the older era listens on one and asks on others. */
const maxConnections = 1024

/** What is answered without reading further: what is turned away, asked elsewhere, or a browser's question whether it may. */
const earlyResponseTo = (
  policy: AccessPolicy,
  { headers, method, url = "/" }: IncomingMessage
): Response | undefined => {
  const isPreflight = method === "OPTIONS" && crossOriginOf(headers) !== undefined
  const denied = checkAccess(isPreflight ? { ...policy, token: undefined } : policy, headers)
  if (denied !== undefined) {
    const challenge: Record<string, string> = denied.status === 401 ? { "WWW-Authenticate": "Bearer" } : {}
    return jsonRpcErrorResponse(denied.status, -32000, denied.message, challenge)
  }
  if (url.split("?")[0] !== mcpPath) return jsonRpcErrorResponse(404, -32000, `MCP is served at ${mcpPath}`)
  return isPreflight ? new Response(null, { status: 204 }) : undefined
}

/**
 * Serves a session as an MCP server over Streamable HTTP at `/mcp`, in any revision of MCP up to 2026-07-28, to any
 * number of clients, and gives the URL. The call of a client whose connection is gone is interrupted: its answer could
 * not be fetched. When the session ends, clients are told so by every answer; closing the scope ends everything.
 */
export const publishHttp = Effect.fn("publishHttp")(function* (
  session: McpSession,
  {
    allowedHosts = [],
    allowedOrigins = [],
    host = "127.0.0.1",
    idleTimeout = Duration.minutes(30),
    maxMessageBytes = 16 * 1024 * 1024,
    maxSessions = 256,
    port,
    token
  }: PublishHttpOptions
): Effect.fn.Return<{ readonly url: string }, McpSessionError | PublishError, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime()
  const policy: AccessPolicy = {
    allowedHosts: [...allowedHosts, host].map((name) => name.toLowerCase()),
    allowedOrigins,
    token
  }
  const http = createServer(requestTimeouts)
  http.timeout = connectionIdleTimeout
  http.maxConnections = maxConnections
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      http.close(() => resume(Effect.void))
      http.closeAllConnections()
    })
  )
  const handle = yield* makeMcpHttpHandler(session, { idleTimeout, maxMessageBytes, maxSessions })
  http.on("request", (request, response) =>
    handle(request, response, {
      earlyResponse: earlyResponseTo(policy, request),
      headers: corsHeaders(policy, request.headers)
    })
  )
  const boundAddress = yield* listen(
    http,
    { host, port },
    (reason) => new PublishError({ message: `Cannot serve MCP on ${host}:${port}: ${reason}` })
  )
  const { address, family, port: boundPort } = boundAddress
  http.on("error", (error) => run(Effect.logWarning("the MCP server cannot take a connection", error)))
  if (!isLoopbackAddress(address)) {
    yield* Effect.logWarning(
      token === undefined
        ? "anybody who reaches this address may use the published tools"
        : "the token and all calls leave this machine without encryption",
      { address }
    )
  }
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${boundPort}${mcpPath}` }
})
