import { Clock, Duration, Effect, Stream } from "effect"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import type { McpServer, McpServerWork, RunEvent, SessionFailure } from "../../../../domain/mcpServers/McpServer.ts"
import { type McpInfo, type McpMethod, type McpSession, McpSessionError } from "../../../ports/McpSession.ts"
import type { LazyControl, OfferedServer } from "../ServersSnapshot.ts"

type Server = McpServer<OfferedServer>

/** A run of a lazy server, as its requests see it. */
export interface LazyRun {
  readonly name: string
  readonly run: number
  /** The server now; another run may have replaced this one. */
  readonly server: () => Server | undefined
  readonly waitFor: <A>(select: (server: Server | undefined) => A | undefined) => Effect.Effect<A>
  /** Sends the event that `decide` gives at the moment of the change, and gives the work that follows. */
  readonly send: (decide: () => RunEvent<OfferedServer> | undefined) => Effect.Effect<McpServerWork | undefined>
  /** Begins work of this run beside the caller. */
  readonly launch: (work: McpServerWork | undefined) => Effect.Effect<void>
}

const unsupported = (method: McpMethod) => {
  const message = `${method} is not supported`
  return new McpSessionError({ reason: "unsupported", code: jsonRpcCodes.methodNotFound, message })
}

/** The capabilities by which a server announces its methods: others must not start it. */
const capabilityOf = {
  "prompts/list": "prompts",
  "prompts/get": "prompts",
  "completion/complete": "completions",
  "resources/templates/list": "resources"
} as const satisfies { readonly [M in McpMethod]: keyof McpInfo["capabilities"] }

const startFailed = (name: string, { message, reason }: SessionFailure, suffix = "") =>
  new McpSessionError({
    reason: reason === "misconfigured" ? "unavailable" : reason,
    message: `MCP server '${name}' did not start: ${message}${suffix}`
  })

/** What a request to a lazy server gets; `undefined` while it must wait. */
const outcomeOf = (
  { name, run }: LazyRun,
  server: Server | undefined
): Effect.Effect<McpSession, McpSessionError> | undefined => {
  const current = server?.run === run ? server : undefined
  if (current?._tag === "Waking") return undefined
  if (current?._tag === "Running") return Effect.succeed(current.offer.lazyControl?.live ?? current.offer.session)
  if (current?._tag === "Idle" && current.failure !== undefined) return Effect.fail(startFailed(name, current.failure))
  return Effect.fail(new McpSessionError({ reason: "closed", message: `MCP server '${name}' was stopped` }))
}

/** Starts the server unless it runs, or a start has just failed: callers must not start a broken server all the time. */
const openRun = Effect.fnUntraced(function* (lazy: LazyRun): Effect.fn.Return<McpSession, McpSessionError> {
  const { launch, name, run, send, server, waitFor } = lazy
  const before = server()
  if (before?._tag === "Idle" && before.run === run) {
    const at = yield* Clock.currentTimeMillis
    const { failure, retryAt } = before
    if (failure !== undefined && at < retryAt) {
      return yield* startFailed(name, failure, `; it can start again in ${Math.ceil((retryAt - at) / 1000)} s`)
    }
    const requested = send(() => ({ _tag: "Requested", run, at }))
    yield* Effect.uninterruptible(Effect.flatMap(requested, launch))
  }
  return yield* outcomeOf(lazy, server()) ?? Effect.flatten(waitFor((now) => outcomeOf(lazy, now)))
})

/** Makes the session that requests open, and whose lists are the catalogue while the server does not run. */
const makeSession = (lazy: LazyRun, open: LazyControl["open"], info: McpInfo): McpSession => {
  const offer = () => {
    const server = lazy.server()
    return server?.run === lazy.run && "offer" in server ? server.offer : undefined
  }
  const live = () => (lazy.server()?._tag === "Running" ? offer()?.lazyControl?.live : undefined)
  const request = <A>(send: (session: McpSession) => Effect.Effect<A, McpSessionError>) =>
    Effect.scoped(Effect.flatMap(open, send))
  const list =
    (what: "tools" | "resources", method: "listTools" | "listResources"): McpSession["listTools"] =>
    (cursor) =>
      Effect.suspend(() => {
        const items = live() === undefined && cursor === undefined ? offer()?.[what] : undefined
        if (items !== undefined) return Effect.succeed({ items, nextCursor: undefined })
        return request((session) => session[method](cursor))
      })
  return {
    info,
    listTools: list("tools", "listTools"),
    listResources: list("resources", "listResources"),
    readResource: (uri) => request((session) => session.readResource(uri)),
    callTool: (tool, params, options) => request((session) => session.callTool(tool, params, options)),
    request: (method, params) =>
      info.capabilities[capabilityOf[method]] === true
        ? request((session) => session.request?.(method, params) ?? Effect.fail(unsupported(method)))
        : Effect.fail(unsupported(method)),
    watch: (wanted) => Effect.suspend(() => live()?.watch(wanted) ?? Effect.succeed(Stream.never)),
    ping: Effect.suspend(() => live()?.ping ?? Effect.void),
    closed: Effect.never
  }
}

/** Makes the control of a run of a lazy MCP server, which requests start and an idle time ends. */
export const makeLazyControl = (lazy: LazyRun): LazyControl => {
  const use = { requests: 0, lastAt: 0 }
  // Concurrent requests share a start.
  const open: LazyControl["open"] = Effect.acquireRelease(
    Effect.sync(() => void use.requests++),
    () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        use.requests--
        use.lastAt = now
      })
  ).pipe(Effect.andThen(openRun(lazy)))
  const { run, send, server } = lazy
  return {
    open,
    live: undefined,
    sessionOf: (info) => makeSession(lazy, open, info),
    untilIdle: Effect.fnUntraced(function* (idleTime) {
      while (server()?._tag === "Running") {
        const idle = Duration.toMillis(idleTime())
        const wait = use.requests > 0 ? idle : use.lastAt + idle - (yield* Clock.currentTimeMillis)
        if (wait > 0) yield* Effect.sleep(Duration.millis(wait))
        // A later request waits for another start.
        else yield* send(() => (use.requests === 0 ? { _tag: "IdleTimedOut", run } : undefined))
      }
    })
  }
}
