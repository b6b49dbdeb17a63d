import { randomUUID } from "node:crypto"
import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server"
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"
import { type Answer, refused } from "./exchange.ts"
import type { Publication } from "./Publication.ts"

/** How much a server holds for its clients. */
export interface SessionLimits {
  /** How many clients may have a session at once; a new one takes the place of the one that was idle longest. */
  readonly mostSessions: number
  /** How long a session lasts of which nothing is heard and which listens to nothing. */
  readonly idleTime: Duration.Input
}

interface ClientSession {
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Requests and streams that are open now. */
  open: number
  /** When the last of them ended, in milliseconds. */
  lastSeen: number
}

/** How many looks at idle sessions an idle time has: one may last a quarter longer than it should. */
const looks = 4

/**
 * Serves the revisions of MCP that have sessions (up to 2025-11-25) over HTTP. Their clients find out that a session is
 * gone by the answer 404, and open a new one.
 */
export const makeHttpSessions = Effect.fnUntraced(function* (
  { forClient, fork, run }: Publication,
  { idleTime, mostSessions }: SessionLimits
): Effect.fn.Return<Answer, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const sessions = new Map<string, ClientSession>()

  const close = (id: string, { transport }: ClientSession) => {
    sessions.delete(id)
    return Effect.ignore(Effect.tryPromise(() => transport.close()))
  }
  const idle = () =>
    [...sessions].filter(([, { open }]) => open === 0).sort(([, a], [, b]) => a.lastSeen - b.lastSeen)

  const handle = (session: ClientSession, request: Request, body: unknown) => {
    session.open++
    request.signal.addEventListener("abort", () => {
      session.open--
      session.lastSeen = clock.currentTimeMillisUnsafe()
    })
    return session.transport.handleRequest(request, body === undefined ? undefined : { parsedBody: body })
  }

  /** Makes room for one more; false when all sessions are in use. */
  const makeRoom = Effect.gen(function* () {
    if (sessions.size < mostSessions) return true
    const [oldest] = idle()
    if (oldest === undefined) return false
    yield* close(...oldest)
    return true
  })
  const begin = Effect.fnUntraced(function* (request: Request, body: unknown) {
    if (!(yield* makeRoom)) {
      return refused(503, -32000, "All sessions are in use; try again later", { "Retry-After": "60" })
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: (id) => void sessions.delete(id)
    })
    const session: ClientSession = { transport, open: 0, lastSeen: 0 }
    const server = yield* forClient("legacy")
    yield* Effect.promise(() => server.connect(transport))
    const answer = yield* Effect.promise(() => handle(session, request, body))
    if (transport.sessionId === undefined) fork(Effect.ignore(Effect.tryPromise(() => transport.close())))
    return answer
  })

  const closeIdle = Effect.suspend(() => {
    const since = clock.currentTimeMillisUnsafe() - Duration.toMillis(idleTime)
    const old = idle().filter(([, { lastSeen }]) => lastSeen <= since)
    return Effect.forEach(old, ([id, session]) => close(id, session), { discard: true })
  })
  yield* Effect.forkScoped(Effect.repeat(closeIdle, Schedule.spaced(Duration.toMillis(idleTime) / looks)))
  yield* Effect.addFinalizer(() =>
    Effect.forEach([...sessions], ([id, session]) => close(id, session), { discard: true })
  )

  return async (request, body) => {
    const id = request.headers.get("mcp-session-id")
    if (id === null) {
      return isInitializeRequest(body)
        ? run(begin(request, body))
        : refused(400, -32000, "A session begins with initialize; later requests name it in Mcp-Session-Id")
    }
    const session = sessions.get(id)
    return session === undefined ? refused(404, -32001, "Session not found") : handle(session, request, body)
  }
})
