import { createServer, type IncomingMessage } from "node:http"
import { Data, Duration, Effect, FiberSet, type Redacted, type Scope } from "effect"
import type { McpFailure, McpSession } from "../../../application/ports/McpSession.ts"
import { isLoopback, listen } from "../../node/network.ts"
import { corsHeaders, type Doors, foreignOrigin, turnAway } from "./doors.ts"
import { refused } from "./exchange.ts"
import { makeMcpHandler } from "./McpHandler.ts"

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
  readonly largestMessage?: number
  /** How many clients of revisions with sessions there may be at once; 256 unless set. */
  readonly mostSessions?: number
  /** How long a session lasts of which nothing is heard and which listens to nothing; 30 minutes unless set. */
  readonly idleTime?: Duration.Input
}

/** The session cannot be published there: the address is no good. The message says which and why. */
export class PublishFailed extends Data.TaggedError("PublishFailed")<{ readonly message: string }> {}

/** Where MCP is served. */
const path = "/mcp"

/** How long a peer may take to send its headers, and its whole request, in milliseconds. */
const patience = { headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 1000 }

/** A connection on which nothing moves for so long is cut, in milliseconds; streams say something every 15 seconds. */
const silence = 60_000

/** How many connections there may be at once: a client of the older era listens on one and asks on others. */
const mostConnections = 1024

/** What is answered without reading further: what is turned away, asked elsewhere, or a browser's question whether it may. */
const atTheDoor = (doors: Doors, { headers, method, url = "/" }: IncomingMessage): Response | undefined => {
  const isPreflight = method === "OPTIONS" && foreignOrigin(headers) !== undefined
  const away = turnAway(isPreflight ? { ...doors, token: undefined } : doors, headers)
  if (away !== undefined) {
    const challenge: Record<string, string> = away.status === 401 ? { "WWW-Authenticate": "Bearer" } : {}
    return refused(away.status, -32000, away.message, challenge)
  }
  if (url.split("?")[0] !== path) return refused(404, -32000, `MCP is served at ${path}`)
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
    idleTime = Duration.minutes(30),
    largestMessage = 16 * 1024 * 1024,
    mostSessions = 256,
    port,
    token
  }: PublishHttpOptions
): Effect.fn.Return<{ readonly url: string }, McpFailure | PublishFailed, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime()
  const doors: Doors = {
    allowedHosts: [...allowedHosts, host].map((name) => name.toLowerCase()),
    allowedOrigins,
    token
  }
  const http = createServer(patience)
  http.timeout = silence
  http.maxConnections = mostConnections
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      http.close(() => resume(Effect.void))
      http.closeAllConnections()
    })
  )
  const handle = yield* makeMcpHandler(session, { idleTime, largestMessage, mostSessions })
  http.on("request", (request, response) =>
    handle(request, response, {
      early: atTheDoor(doors, request),
      headers: corsHeaders(doors, request.headers)
    })
  )
  const place = yield* listen(
    http,
    { host, port },
    (why) => new PublishFailed({ message: `Cannot serve MCP on ${host}:${port}: ${why}` })
  )
  const { address, family, port: taken } = place
  http.on("error", (error) => run(Effect.logWarning("the MCP server cannot take a connection", error)))
  if (!isLoopback(address)) {
    yield* Effect.logWarning(
      token === undefined
        ? "anybody who reaches this address may use the published tools"
        : "the token and all calls leave this machine without encryption",
      { address }
    )
  }
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${taken}${path}` }
})
