import { randomUUID } from "node:crypto"
import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server"
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"
import { type WebHandler, jsonRpcErrorResponse } from "./webHandler.ts"
import type { PublishedSession } from "../PublishedSession.ts"

export interface LegacySessionLimits {
  /** Maximum number of sessions, 256 by default. A new one evicts the idle one whose latest request is the oldest. */
  readonly maxSessions?: number
  /** Time without requests and streams until a session is closed; 30 minutes by default. */
  readonly idleTimeout?: Duration.Input
}

interface ClientSession {
  readonly transport: WebStandardStreamableHTTPServerTransport
  inFlight: number
  /** When the last of them ended, in milliseconds. */
  idleSince: number
}

/** A session may exceed its idle timeout by a quarter. */
const sweepsPerTimeout = 4

/** Serves MCP revisions with sessions (up to 2025-11-25). Clients of a closed session receive 404. */
export const makeLegacyHandler = Effect.fnUntraced(function* (
  { makeClientServer, fork, run }: PublishedSession,
  { idleTimeout = Duration.minutes(30), maxSessions = 256 }: LegacySessionLimits
): Effect.fn.Return<WebHandler, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  /** In the order of their latest requests, which tells apart those of one millisecond. */
  const sessions = new Map<string, ClientSession>()

  const close = (id: string, { transport }: ClientSession) => {
    sessions.delete(id)
    return Effect.ignore(Effect.tryPromise(() => transport.close()))
  }
  const idleSessions = () => [...sessions].filter(([, { inFlight }]) => inFlight === 0)

  const handle = (session: ClientSession, request: Request, body: unknown) => {
    session.inFlight++
    request.signal.addEventListener("abort", () => {
      session.inFlight--
      session.idleSince = clock.currentTimeMillisUnsafe()
    })
    return session.transport.handleRequest(request, body === undefined ? undefined : { parsedBody: body })
  }

  const openSession = Effect.fnUntraced(function* (request: Request, body: unknown) {
    if (sessions.size >= maxSessions) {
      const [oldest] = idleSessions()
      if (oldest === undefined) {
        const message = "All sessions are in use; try again later"
        return jsonRpcErrorResponse(503, "connectionClosed", message, { "Retry-After": "60" })
      }
      yield* close(...oldest)
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: (id) => void sessions.delete(id)
    })
    const session: ClientSession = { transport, inFlight: 0, idleSince: 0 }
    const server = yield* makeClientServer("legacy")
    yield* Effect.promise(() => server.connect(transport))
    const response = yield* Effect.promise(() => handle(session, request, body))
    if (transport.sessionId === undefined) fork(Effect.ignore(Effect.tryPromise(() => transport.close())))
    return response
  })

  const closeIdle = Effect.suspend(() => {
    const cutoff = clock.currentTimeMillisUnsafe() - Duration.toMillis(idleTimeout)
    const expired = idleSessions().filter(([, { idleSince }]) => idleSince <= cutoff)
    return Effect.forEach(expired, ([id, session]) => close(id, session), { discard: true })
  })
  yield* Effect.forkScoped(Effect.repeat(closeIdle, Schedule.spaced(Duration.toMillis(idleTimeout) / sweepsPerTimeout)))
  yield* Effect.addFinalizer(() =>
    Effect.forEach([...sessions], ([id, session]) => close(id, session), { discard: true })
  )

  return async (request, body) => {
    const id = request.headers.get("mcp-session-id")
    if (id === null) {
      return isInitializeRequest(body)
        ? run(openSession(request, body))
        : jsonRpcErrorResponse(
            400,
            "connectionClosed",
            "The first request must be initialize; later requests must send Mcp-Session-Id"
          )
    }
    const session = sessions.get(id)
    if (session === undefined) return jsonRpcErrorResponse(404, "requestTimeout", "Session not found")
    sessions.delete(id)
    sessions.set(id, session)
    return handle(session, request, body)
  }
})
