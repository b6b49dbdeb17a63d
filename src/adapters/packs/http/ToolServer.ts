import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Duration, Effect, FiberSet, Redacted, type Scope } from "effect"
import { PackHost } from "../../../application/packs/PackHost.ts"
import { corsHeaders, type AccessPolicy, checkAccess, type AccessDenied } from "../../http/AccessPolicy.ts"
import { jsonRpcErrorResponse } from "../../mcp/publish/http/webHandler.ts"
import { PublishError } from "../../mcp/publish/http/publishHttp.ts"
import { makeMcpHttpHandler } from "../../mcp/publish/http/McpHttpHandler.ts"
import { crossOriginOf, isLoopbackAddress } from "../../http/hostAccess.ts"
import { listen } from "../../http/httpServer.ts"
import { responseClosed, sendReply, socketTimeoutMillis } from "./sendReply.ts"
import { makePages } from "./pages.ts"
import { internalErrorReply, errorReply, type Reply } from "./reply.ts"
import { type UploadLimits, makeToolCallHandler } from "./toolCalls.ts"

/** Options of the tool server. */
export interface ServeToolsOptions extends Partial<UploadLimits> {
  /** Address to listen on; `127.0.0.1` by default, which only this machine reaches. */
  readonly host?: string
  /** 0 picks a free port. */
  readonly port: number
  /** API key, sent as `X-API-Key` or as bearer token; without a key, every client can call tools. */
  readonly key?: Redacted.Redacted<string>
  /** Host names that clients use for this server, without port, beside `localhost` and IP addresses. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** Origins of web pages that may call tools, such as `https://app.example.org`; only the same origin by default. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** Largest MCP message, in bytes; 16 MiB by default, because arguments can contain files. */
  readonly maxMessageBytes?: number
  /** Concurrent sessions of MCP clients; 256 by default. */
  readonly maxSessions?: number
  /** Idle timeout of an MCP session without open streams; 30 minutes by default. */
  readonly idleTimeout?: Duration.Input
}

/** In milliseconds; the request timeout allows 100 MiB over a slow line. */
const requestTimeouts = {
  headersTimeout: 10_000,
  requestTimeout: 15 * 60_000,
  connectionsCheckingInterval: 1000
}

/** Older MCP clients use several connections each. */
const maxConnections = 1024

const shutdownTimeout = "2 seconds"

/** Path of a request, normalized like endpoints; undefined when the URL is invalid. */
const requestPath = ({ url = "/" }: IncomingMessage): string | undefined =>
  URL.parse(url.startsWith("/") ? `http://localhost${url}` : url)?.pathname

const challenge = { "WWW-Authenticate": "Bearer" }

const accessDeniedReply = ({ message, status }: AccessDenied): Reply =>
  status === 401 ? errorReply(401, "Invalid API key", challenge) : errorReply(403, message)

/** Stops accepting connections, and closes the active ones after the shutdown timeout. */
const closeServer = (http: Server) => {
  const close = (closeConnections: () => void) =>
    Effect.callback<void>((resume) => {
      http.close(() => resume(Effect.void))
      closeConnections()
    })
  return Effect.timeoutOrElse(
    close(() => http.closeIdleConnections()),
    { duration: shutdownTimeout, orElse: () => close(() => http.closeAllConnections()) }
  )
}

/**
 * Serves tools over HTTP (seed 004) and returns the URL: routes by POST; `/`, `/health`, `/tools`, `/openapi.json` and
 * `/docs` by GET; all tools over MCP at `/mcp`. A client that disconnects cancels its call. On close, in-flight calls
 * have two seconds.
 */
export const serveTools = Effect.fn("serveTools")(function* ({
  allowedHosts = [],
  allowedOrigins = [],
  host: address = "127.0.0.1",
  idleTimeout = Duration.minutes(30),
  key,
  maxMessageBytes = 16 * 1024 * 1024,
  maxSessions = 256,
  port,
  ...limits
}: ServeToolsOptions): Effect.fn.Return<{ readonly url: string }, PublishError, Scope.Scope | PackHost> {
  if (key !== undefined && Redacted.value(key) === "") {
    return yield* new PublishError({ message: "The API key must not be empty" })
  }
  const host = yield* PackHost
  const access: AccessPolicy = {
    allowedHosts: [...allowedHosts, address].map((name) => name.toLowerCase()),
    allowedOrigins,
    token: key,
    tokenHeader: "x-api-key"
  }
  const accessWithoutToken: AccessPolicy = { ...access, token: undefined }
  const handleCall = makeToolCallHandler(host, limits)
  const run = yield* FiberSet.makeRuntime<never>()
  let closing = false

  const http = createServer(requestTimeouts)
  http.timeout = socketTimeoutMillis
  http.maxConnections = maxConnections
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      closing = true
      return closeServer(http)
    })
  )
  const mcp = yield* Effect.mapError(
    makeMcpHttpHandler(host.session, { idleTimeout, maxMessageBytes, maxSessions }),
    ({ message }) => new PublishError({ message: `Cannot serve the tools over MCP: ${message}` })
  )

  const pages = yield* makePages(host, key !== undefined)

  const findRoute = (path: string, request: IncomingMessage, response: ServerResponse) => {
    const found = pages.get(path)
    if (found !== undefined) return { ...found, methods: ["GET", "HEAD"] }
    const hosted = host.route(path)
    return hosted === undefined
      ? undefined
      : { requiresKey: true, reply: handleCall(hosted, request, response), methods: ["POST"] }
  }
  /** Routes a request before its body is read. */
  const routeRequest = (request: IncomingMessage, response: ServerResponse): Effect.Effect<Reply | undefined> => {
    const { headers, method = "" } = request
    const forbidden = checkAccess(accessWithoutToken, headers)
    if (forbidden !== undefined) return Effect.succeed(accessDeniedReply(forbidden))
    if (method === "OPTIONS" && crossOriginOf(headers) !== undefined) {
      return Effect.succeed({ status: 204, headers: {}, body: "" })
    }
    const found = findRoute(requestPath(request) ?? "", request, response)
    if (found === undefined) return Effect.succeed(errorReply(404, "Not Found"))
    if (!found.methods.includes(method)) {
      return Effect.succeed(errorReply(405, "Method Not Allowed", { Allow: found.methods.join(", ") }))
    }
    const denied = found.requiresKey ? checkAccess(access, headers) : undefined
    return denied === undefined ? found.reply : Effect.succeed(accessDeniedReply(denied))
  }

  const handleRequest = Effect.fnUntraced(function* (request: IncomingMessage, response: ServerResponse) {
    const reply = yield* Effect.suspend(() => routeRequest(request, response)).pipe(
      Effect.catchCause((cause) => Effect.as(Effect.logError("request failed", cause), internalErrorReply)),
      Effect.raceFirst(Effect.as(responseClosed(response), undefined))
    )
    if (reply === undefined) return
    response.shouldKeepAlive &&= !closing
    const headers = { ...reply.headers, ...corsHeaders(access, request.headers) }
    yield* sendReply(request, response, { ...reply, headers })
  })
  const checkMcpAccess = ({ headers, method }: IncomingMessage): Response | undefined => {
    const isPreflight = method === "OPTIONS" && crossOriginOf(headers) !== undefined
    const denied = checkAccess(isPreflight ? accessWithoutToken : access, headers)
    if (denied?.status === 401) return jsonRpcErrorResponse(401, -32000, "Invalid API key", challenge)
    if (denied !== undefined) return jsonRpcErrorResponse(denied.status, -32000, denied.message)
    return isPreflight ? new Response(null, { status: 204 }) : undefined
  }
  const handleMcpRequest = (request: IncomingMessage, response: ServerResponse) =>
    mcp(request, response, {
      earlyResponse: checkMcpAccess(request),
      headers: corsHeaders(access, request.headers)
    })

  http.on("request", (request, response) => {
    if (requestPath(request) === "/mcp") handleMcpRequest(request, response)
    else run(handleRequest(request, response))
  })
  // The client sends its body only after the handler asks for it.
  http.on("checkContinue", (request, response) => {
    if (requestPath(request) !== "/mcp") return void run(handleRequest(request, response))
    response.writeContinue()
    handleMcpRequest(request, response)
  })

  const bound = yield* listen(
    http,
    { host: address, port },
    (reason) => new PublishError({ message: `Cannot serve tools on ${address}:${port}: ${reason}` })
  )
  http.on("error", (error) => run(Effect.logWarning("HTTP server error", error)))
  if (!isLoopbackAddress(bound.address)) {
    yield* Effect.logWarning(
      key === undefined ? "listening beyond loopback without an API key" : "listening beyond loopback without TLS",
      { address: bound.address }
    )
  }
  const name = bound.family === "IPv6" ? `[${bound.address}]` : bound.address
  return { url: `http://${name}:${bound.port}` }
})
