import { Clock, Deferred, Duration, Effect, Exit, Latch, type Scope, Stream } from "effect"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import type { JsonObject } from "../../../../domain/json.ts"
import type { ServerCatalogue } from "../../../../domain/tools/ServerCatalogue.ts"
import {
  type McpInfo,
  type McpMethod,
  type McpPage,
  type McpSession,
  McpSessionError
} from "../../../ports/McpSession.ts"
import { type Backoff, backoffDelay } from "../../../shared/backoff.ts"

/** For starts on request: a caller waits. */
const startBackoff: Backoff = { initial: Duration.millis(500), max: Duration.seconds(10) }

const unsupported = (method: McpMethod) =>
  new McpSessionError({
    reason: "unsupported",
    code: jsonRpcCodes.methodNotFound,
    message: `${method} is not supported`
  })

/** True when the server announced the method: others must not start it. */
const isSupported = ({ capabilities }: McpInfo, method: McpMethod): boolean => {
  switch (method) {
    case "prompts/list":
    case "prompts/get":
      return capabilities.prompts === true
    case "completion/complete":
      return capabilities.completions === true
    case "resources/templates/list":
      return capabilities.resources
  }
}

/**
 * The session of a lazy MCP server, which requests open and an idle time closes. Its owner runs the server from a request
 * until {@link untilIdle}, one run at a time.
 */
export type LazySession = ReturnType<typeof makeLazySession>

export const makeLazySession = (name: string, initial: ServerCatalogue) => {
  let catalogue = initial
  let live: McpSession | undefined
  let users = 0
  let lastUsedAt = 0
  let failures = 0
  let failed: { readonly error: McpSessionError; readonly retryAt: number } | undefined
  let closed: McpSessionError | undefined
  const requested = Latch.makeUnsafe(false)
  let started = Deferred.makeUnsafe<McpSession, McpSessionError>()

  /** From here on requests wait for another start. */
  const end = () => {
    live = undefined
    requested.closeUnsafe()
    started = Deferred.makeUnsafe()
  }
  const rejectWaiting = (error: McpSessionError) => {
    const waiting = started
    end()
    Deferred.doneUnsafe(waiting, Exit.fail(error))
  }

  const whenStarted = Effect.gen(function* (): Effect.fn.Return<McpSession, McpSessionError> {
    if (live !== undefined) return live
    if (closed !== undefined) return yield* closed
    const now = yield* Clock.currentTimeMillis
    if (failed !== undefined && now < failed.retryAt) {
      const { message, reason } = failed.error
      const seconds = Math.ceil((failed.retryAt - now) / 1000)
      return yield* new McpSessionError({ reason, message: `${message}; it can start again in ${seconds} s` })
    }
    // The start can end before `openUnsafe` returns.
    const starting = started
    requested.openUnsafe()
    return yield* Deferred.await(starting)
  })

  /** Starts the server unless it runs, and keeps it running as long as the scope. Concurrent requests share a start. */
  const open: Effect.Effect<McpSession, McpSessionError, Scope.Scope> = Effect.acquireRelease(
    Effect.sync(() => void users++),
    () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        users--
        lastUsedAt = now
      })
  ).pipe(Effect.andThen(whenStarted))

  const request = <A>(send: (session: McpSession) => Effect.Effect<A, McpSessionError>) =>
    Effect.scoped(Effect.flatMap(open, send))
  const list = (
    items: (catalogue: ServerCatalogue) => ReadonlyArray<JsonObject>,
    page: (session: McpSession) => Effect.Effect<McpPage, McpSessionError>,
    cursor: string | undefined
  ): Effect.Effect<McpPage, McpSessionError> =>
    Effect.suspend(() =>
      live === undefined && cursor === undefined
        ? Effect.succeed({ items: items(catalogue), nextCursor: undefined })
        : request(page)
    )

  const makeSession = ({ info }: ServerCatalogue): McpSession => ({
    info,
    listTools: (cursor) =>
      list(
        ({ tools }) => tools,
        (one) => one.listTools(cursor),
        cursor
      ),
    listResources: (cursor) =>
      list(
        ({ resources }) => resources,
        (one) => one.listResources(cursor),
        cursor
      ),
    readResource: (uri) => request((one) => one.readResource(uri)),
    callTool: (tool, params, options) => request((one) => one.callTool(tool, params, options)),
    request: (method, params) =>
      isSupported(info, method)
        ? request((one) => one.request?.(method, params) ?? Effect.fail(unsupported(method)))
        : Effect.fail(unsupported(method)),
    watch: (wanted) => Effect.suspend(() => live?.watch(wanted) ?? Effect.succeed(Stream.never)),
    ping: Effect.suspend(() => live?.ping ?? Effect.void),
    closed: Effect.never
  })
  let session = makeSession(initial)

  return {
    open,
    /** Lists the catalogue while the server does not run. Its identity changes with its info. */
    session: () => session,
    catalogue: () => catalogue,
    setCatalogue: (next: ServerCatalogue) => {
      const isSameInfo = JSON.stringify(next.info) === JSON.stringify(catalogue.info)
      catalogue = next
      if (!isSameInfo) session = makeSession(next)
    },
    /** Waits for a request that needs the server. */
    requested: requested.await,
    /** Gives the waiting requests a session. */
    onStarted: (running: McpSession) => {
      live = running
      failures = 0
      failed = undefined
      Deferred.doneUnsafe(started, Exit.succeed(running))
    },
    /** Fails the waiting requests, and those of the next seconds: callers must not start a broken server all the time. */
    onStartFailed: Effect.fnUntraced(function* ({ message, reason }: McpSessionError) {
      failures++
      const wait = yield* backoffDelay(startBackoff, failures)
      const now = yield* Clock.currentTimeMillis
      const error = new McpSessionError({ reason, message: `MCP server '${name}' did not start: ${message}` })
      failed = { error, retryAt: now + Duration.toMillis(wait) }
      rejectWaiting(error)
    }),
    /** The session of this run ended. */
    onLost: end,
    /** Completes when no request has used the running server for a time. No later request uses this run. */
    untilIdle: Effect.fnUntraced(function* (idleTime: () => Duration.Duration) {
      while (true) {
        const idle = Duration.toMillis(idleTime())
        const wait = users > 0 ? idle : lastUsedAt + idle - (yield* Clock.currentTimeMillis)
        if (users === 0 && wait <= 0) return end()
        yield* Effect.sleep(Duration.millis(wait))
      }
    }),
    /** Rejects all requests from now on. */
    close: () => {
      closed = new McpSessionError({ reason: "closed", message: `MCP server '${name}' was stopped` })
      rejectWaiting(closed)
    }
  }
}
