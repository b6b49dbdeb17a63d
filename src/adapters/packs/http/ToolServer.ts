import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Duration, Effect, FiberSet, Redacted, type Scope } from "effect"
import { PackHost } from "../../../application/packs/PackHost.ts"
import { corsHeaders, type Doors, foreignOrigin, turnAway, type TurnedAway } from "../../mcp/publish/doors.ts"
import { refused } from "../../mcp/publish/exchange.ts"
import { PublishFailed } from "../../mcp/publish/Http.ts"
import { makeMcpHandler } from "../../mcp/publish/McpHandler.ts"
import { isLoopback, listen } from "../../node/network.ts"
import { gone, send, silence } from "./connection.ts"
import { makePages } from "./pages.ts"
import { bugReply, errorReply, type Reply } from "./reply.ts"
import { type CallLimits, makeToolCalls } from "./toolCalls.ts"

/** What an operator may set about a server of tools. */
export interface ServeToolsOptions extends Partial<CallLimits> {
  /** The address to listen on; only this machine reaches `127.0.0.1`, which it is unless set. */
  readonly host?: string
  /** 0 picks a free port. */
  readonly port: number
  /** What clients must show as `X-API-Key` or as bearer token; anybody may call tools unless set. */
  readonly key?: Redacted.Redacted<string>
  /** Names under which clients address this server, without port, beside `localhost` and plain addresses. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** Origins of pages that may call tools, such as `https://app.example.org`; none but its own unless set. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** How large one message of an MCP client may be, in bytes; 16 MiB unless set, because arguments may hold files. */
  readonly largestMessage?: number
  /** How many MCP clients of revisions with sessions there may be at once; 256 unless set. */
  readonly mostSessions?: number
  /** How long an MCP session lasts of which nothing is heard and which listens to nothing; 30 minutes unless set. */
  readonly idleTime?: Duration.Input
}

/**
 * How long a peer may take to send its headers, and its whole request, in milliseconds. The latter suffices for a file
 * of 100 MiB over a slow line.
 */
const patience = { headersTimeout: 10_000, requestTimeout: 15 * 60_000, connectionsCheckingInterval: 1000 }

/** How many connections there may be at once: MCP clients of the older era listen on one and ask on others. */
const mostConnections = 1024

/** How long calls under way may take to end when the server does. */
const grace = "2 seconds"

/** The path of a request as endpoints are spelled; undefined when it has none. */
const pathOf = ({ url = "/" }: IncomingMessage): string | undefined =>
  URL.parse(url.startsWith("/") ? `http://localhost${url}` : url)?.pathname

/** How a client may show the key, in the words that HTTP has for it. */
const challenge = { "WWW-Authenticate": "Bearer" }

/** What a door that does not open is answered with. */
const turnedAway = ({ message, status }: TurnedAway): Reply =>
  status === 401 ? errorReply(401, "Invalid API key", challenge) : errorReply(403, message)

/** Stops taking connections, and cuts those off that are still in use when the grace is over. */
const close = (http: ReturnType<typeof createServer>) =>
  Effect.callback<void>((resume) => {
    http.close(() => resume(Effect.void))
    http.closeIdleConnections()
  }).pipe(
    Effect.timeoutOrElse({
      duration: grace,
      orElse: () =>
        Effect.callback<void>((resume) => {
          http.close(() => resume(Effect.void))
          http.closeAllConnections()
        })
    })
  )

/**
 * Serves the tools of the packs of a host over HTTP (seed 004), and gives the URL: every route of theirs by POST, what
 * there is at `/`, `/health`, `/tools`, `/openapi.json` and `/docs`, and all tools over MCP at `/mcp`. A call whose
 * connection is gone is interrupted. Closing the scope lets calls end for two seconds, then ends everything.
 */
export const serveTools = Effect.fn("serveTools")(function* ({
  allowedHosts = [],
  allowedOrigins = [],
  host: address = "127.0.0.1",
  idleTime = Duration.minutes(30),
  key,
  largestMessage = 16 * 1024 * 1024,
  mostSessions = 256,
  port,
  ...limits
}: ServeToolsOptions): Effect.fn.Return<{ readonly url: string }, PublishFailed, Scope.Scope | PackHost> {
  if (key !== undefined && Redacted.value(key) === "") {
    return yield* new PublishFailed({ message: "The API key is empty: anybody could show that" })
  }
  const host = yield* PackHost
  const doors: Doors = {
    allowedHosts: [...allowedHosts, address].map((name) => name.toLowerCase()),
    allowedOrigins,
    token: key,
    tokenHeader: "x-api-key"
  }
  const openDoors: Doors = { ...doors, token: undefined }
  const call = makeToolCalls(host, limits)
  const run = yield* FiberSet.makeRuntime<never>()
  let closing = false

  const http = createServer(patience)
  http.timeout = silence
  http.maxConnections = mostConnections
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      closing = true
      return close(http)
    })
  )
  const mcp = yield* Effect.mapError(
    makeMcpHandler(host.session, { idleTime, largestMessage, mostSessions }),
    ({ message }) => new PublishFailed({ message: `Cannot serve the tools over MCP: ${message}` })
  )

  const pages = yield* makePages(host, key !== undefined)

  /** What is served at a path by which methods, if anything is. */
  const findAt = (path: string, request: IncomingMessage, response: ServerResponse) => {
    const found = pages.get(path)
    if (found !== undefined) return { ...found, methods: ["GET", "HEAD"] }
    const hosted = host.route(path)
    return hosted === undefined
      ? undefined
      : { guarded: true, reply: call(hosted, request, response), methods: ["POST"] }
  }
  /** Decides about a request before anything of its body is read. */
  const decide = (request: IncomingMessage, response: ServerResponse): Effect.Effect<Reply | undefined> => {
    const { headers, method = "" } = request
    const tricked = turnAway(openDoors, headers)
    if (tricked !== undefined) return Effect.succeed(turnedAway(tricked))
    if (method === "OPTIONS" && foreignOrigin(headers) !== undefined) {
      return Effect.succeed({ status: 204, headers: {}, body: "" })
    }
    const found = findAt(pathOf(request) ?? "", request, response)
    if (found === undefined) return Effect.succeed(errorReply(404, "Not Found"))
    if (!found.methods.includes(method)) {
      return Effect.succeed(errorReply(405, "Method Not Allowed", { Allow: found.methods.join(", ") }))
    }
    const away = found.guarded ? turnAway(doors, headers) : undefined
    return away === undefined ? found.reply : Effect.succeed(turnedAway(away))
  }

  const answer = Effect.fnUntraced(function* (request: IncomingMessage, response: ServerResponse) {
    const reply = yield* Effect.suspend(() => decide(request, response)).pipe(
      Effect.catchCause((cause) =>
        Effect.as(Effect.logError("a request for tools could not be answered", cause), bugReply)
      ),
      Effect.raceFirst(Effect.as(gone(response), undefined))
    )
    if (reply === undefined) return
    response.shouldKeepAlive &&= !closing
    const headers = { ...reply.headers, ...corsHeaders(doors, request.headers) }
    yield* send(request, response, { ...reply, headers })
  })
  const admitToMcp = ({ headers, method }: IncomingMessage): Response | undefined => {
    const isPreflight = method === "OPTIONS" && foreignOrigin(headers) !== undefined
    const away = turnAway(isPreflight ? openDoors : doors, headers)
    if (away?.status === 401) return refused(401, -32000, "Invalid API key", challenge)
    if (away !== undefined) return refused(away.status, -32000, away.message)
    return isPreflight ? new Response(null, { status: 204 }) : undefined
  }
  const answerMcp = (request: IncomingMessage, response: ServerResponse) =>
    mcp(request, response, { early: admitToMcp(request), headers: corsHeaders(doors, request.headers) })

  http.on("request", (request, response) => {
    if (pathOf(request) === "/mcp") answerMcp(request, response)
    else run(answer(request, response))
  })
  // The body is asked for only when somebody reads it.
  http.on("checkContinue", (request, response) => {
    if (pathOf(request) !== "/mcp") return void run(answer(request, response))
    response.writeContinue()
    answerMcp(request, response)
  })

  const place = yield* listen(
    http,
    { host: address, port },
    (why) => new PublishFailed({ message: `Cannot serve tools on ${address}:${port}: ${why}` })
  )
  http.on("error", (error) => run(Effect.logWarning("the server of tools cannot take a connection", error)))
  if (!isLoopback(place.address)) {
    yield* Effect.logWarning(
      key === undefined
        ? "anybody who reaches this address may call the tools"
        : "the API key and all calls leave this machine without encryption",
      { address: place.address }
    )
  }
  const name = place.family === "IPv6" ? `[${place.address}]` : place.address
  return { url: `http://${name}:${place.port}` }
})
