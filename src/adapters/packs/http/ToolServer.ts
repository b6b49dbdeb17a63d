import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { Effect, FiberSet, type Redacted, type Scope } from "effect"
import { PackHost } from "../../../application/packs/PackHost.ts"
import {
  corsHeaders,
  type AccessPolicy,
  checkAccess,
  checkTokenOption,
  type AccessDenied
} from "../../auth/AccessPolicy.ts"
import { executionPath } from "../../../domain/packs/packExecution.ts"
import { basicPassword } from "../../auth/secrets.ts"
import { jsonRpcErrorResponse } from "../../mcp/publish/http/webHandler.ts"
import {
  isMcpPath,
  PublishError,
  type PublishHttpOptions,
  makeMcpHttpHandler
} from "../../mcp/publish/http/publishHttp.ts"
import { crossOriginOf, isLoopbackHost } from "../../http/hostAccess.ts"
import { cannot, listen, makeHttpServer, listeningUrl } from "../../http/httpServer.ts"
import { defaultMaxUnreadBytes, limitUnreadResponses } from "../../http/unreadResponses.ts"
import { makePages } from "./pages.ts"
import { responseClosed, sendReply } from "../../http/messages.ts"
import { emptyToolReply, toolErrorReply, socketTimeoutMillis } from "./reply.ts"
import { type UploadLimits, makeToolCallHandler } from "./toolCalls.ts"

/** By default, only this machine reaches the server, and only pages of the same origin may call tools. */
export interface ServeToolsOptions extends Partial<UploadLimits>, Omit<PublishHttpOptions, "token"> {
  /** API key, sent as `X-API-Key` or as bearer token. `"allowAll"` admits every client, which suits loopback only. */
  readonly key: Redacted.Redacted<string> | "allowAll"
  /** Shows `/docs` and `/openapi.json`, which describe all tools, without the key. */
  readonly publicDocs?: boolean
}

/** Times in milliseconds. */
const httpOptions = {
  headersTimeout: 10_000,
  /** Allows 100 MiB over a slow line. */
  requestTimeout: 15 * 60_000,
  connectionsCheckingInterval: 1000,
  idleTimeout: socketTimeoutMillis,
  closeTimeout: 2000,
  /** Older MCP clients use several connections each. */
  maxConnections: 1024
}

/** Path of a request, normalized like endpoints; undefined when the URL is invalid. */
const requestPath = ({ url = "/" }: IncomingMessage): string | undefined =>
  URL.parse(url.startsWith("/") ? `http://localhost${url}` : url)?.pathname

const isPreflight = ({ headers, method }: IncomingMessage): boolean =>
  method === "OPTIONS" && crossOriginOf(headers) !== undefined

const challenge = { "WWW-Authenticate": "Bearer" }

/** Makes a browser ask for the key. */
const passwordChallenge = { "WWW-Authenticate": 'Basic realm="The password is the API key", charset="UTF-8"' }

const accessDeniedReply = ({ message, status }: AccessDenied, headers: Record<string, string> = challenge) =>
  status === 401 ? toolErrorReply(401, "Invalid API key", headers) : toolErrorReply(403, message)

/** The headers with the password of a browser as the key. Pages only: a browser adds it to every later request. */
const withPasswordAsKey = (headers: IncomingHttpHeaders): IncomingHttpHeaders => {
  const password = basicPassword(headers.authorization ?? "")
  return password === undefined ? headers : { ...headers, "x-api-key": password }
}

const withoutToken = (access: AccessPolicy): AccessPolicy => ({ ...access, token: "allowAll" })

/** Makes the function that replies to a request of a page or a tool. The reply is undefined when the client has disconnected. */
const makeRouter = Effect.fnUntraced(function* (
  host: PackHost["Service"],
  access: AccessPolicy,
  { publicDocs, ...limits }: Partial<UploadLimits> & { readonly publicDocs: boolean }
) {
  const handleCall = makeToolCallHandler(host, limits)
  const pages = yield* makePages(host, { publicDocs, requiresKey: access.token !== "allowAll" })
  const findRoute = (path: string, request: IncomingMessage, response: ServerResponse) => {
    const page = pages.get(path)
    if (page !== undefined) return { ...page, methods: ["GET", "HEAD"] }
    const isExecution = path.endsWith(executionPath)
    const hosted = host.route(isExecution ? path.slice(0, -executionPath.length) : path)
    return hosted === undefined
      ? undefined
      : { readers: "key" as const, reply: handleCall(hosted, request, response, isExecution), methods: ["POST"] }
  }
  /** Routes a request before its body is read. */
  return Effect.fnUntraced(function* (request: IncomingMessage, response: ServerResponse) {
    const { headers, method = "" } = request
    const forbidden = checkAccess(withoutToken(access), headers)
    if (forbidden !== undefined) return accessDeniedReply(forbidden)
    if (isPreflight(request)) return emptyToolReply
    const route = findRoute(requestPath(request) ?? "", request, response)
    if (route === undefined) return toolErrorReply(404, "Not Found")
    if (!route.methods.includes(method)) {
      return toolErrorReply(405, "Method Not Allowed", { Allow: route.methods.join(", ") })
    }
    const isPage = route.readers === "key_or_password"
    const denied =
      route.readers === "all" ? undefined : checkAccess(access, isPage ? withPasswordAsKey(headers) : headers)
    if (denied === undefined) return yield* route.reply
    return accessDeniedReply(denied, isPage ? passwordChallenge : challenge)
  })
})

/**
 * Serves tools over HTTP (seed 004) and returns the URL: routes by POST; `/`, `/health`, `/tools`, `/openapi.json` and
 * `/docs` by GET; all tools over MCP at `/mcp`. A client that disconnects cancels its call. On close, in-flight calls
 * have two seconds.
 */
export const serveTools = Effect.fn("serveTools")(function* ({
  allowedHosts = [],
  allowedOrigins = [],
  host: address = "127.0.0.1",
  key,
  maxUnreadBytes = defaultMaxUnreadBytes,
  port,
  publicDocs = false,
  ...limits
}: ServeToolsOptions): Effect.fn.Return<{ readonly url: string }, PublishError, Scope.Scope | PackHost> {
  const problem = checkTokenOption("The API key", key)
  if (problem !== undefined) return yield* new PublishError({ message: problem })
  const host = yield* PackHost
  const access: AccessPolicy = {
    allowedHosts: [...allowedHosts, address].map((name) => name.toLowerCase()),
    allowedOrigins,
    token: key,
    tokenHeader: "x-api-key"
  }
  const run = yield* FiberSet.makeRuntime<never>()
  let closing = false

  const http = yield* makeHttpServer(httpOptions)
  yield* limitUnreadResponses(http, maxUnreadBytes)
  yield* Effect.addFinalizer(() => Effect.sync(() => void (closing = true)))
  const mcp = yield* Effect.mapError(
    makeMcpHttpHandler(host.session, limits),
    ({ message }) => new PublishError({ message: `Cannot serve the tools over MCP: ${message}` })
  )

  const routeRequest = yield* makeRouter(host, access, { ...limits, publicDocs })
  const handleRequest = Effect.fnUntraced(function* (request: IncomingMessage, response: ServerResponse) {
    const reply = yield* routeRequest(request, response).pipe(
      Effect.catchCause((cause) =>
        Effect.as(Effect.logError("request failed", cause), toolErrorReply(500, "Internal Server Error"))
      ),
      Effect.raceFirst(Effect.as(responseClosed(response), undefined))
    )
    if (reply === undefined) return
    response.shouldKeepAlive &&= !closing
    const headers = { ...reply.headers, ...corsHeaders(access, request.headers) }
    yield* sendReply(request, response, { ...reply, headers })
  })
  const checkMcpAccess = (request: IncomingMessage): Response | undefined => {
    const denied = checkAccess(isPreflight(request) ? withoutToken(access) : access, request.headers)
    if (denied?.status === 401) return jsonRpcErrorResponse(401, "connectionClosed", "Invalid API key", challenge)
    if (denied !== undefined) return jsonRpcErrorResponse(denied.status, "connectionClosed", denied.message)
    return isPreflight(request) ? new Response(null, { status: 204 }) : undefined
  }

  http.on("request", (request, response) => {
    if (!isMcpPath(requestPath(request))) return void run(handleRequest(request, response))
    const headers = corsHeaders(access, request.headers)
    mcp(request, response, { earlyResponse: checkMcpAccess(request), headers })
  })
  // The client sends its body only after it is asked to, which the handler of a tool call does itself.
  http.on("checkContinue", (request, response) => {
    if (isMcpPath(requestPath(request))) response.writeContinue()
    http.emit("request", request, response)
  })

  const bound = yield* listen(http, { host: address, port }, cannot("serve tools", PublishError))
  if (!isLoopbackHost(bound.address)) {
    yield* Effect.logWarning(
      key === "allowAll" ? "listening beyond loopback without an API key" : "listening beyond loopback without TLS",
      { address: bound.address }
    )
  }
  return { url: listeningUrl("http", bound) }
})
