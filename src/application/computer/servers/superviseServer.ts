import { Clock, Duration, Effect, Option, Ref, Result, type Scope, Stream } from "effect"
import type { Setup } from "../../../domain/config/Setup.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import { vrlScript } from "../../../domain/tools/vrl.ts"
import { restartBackoff, backoffDelay } from "../../shared/backoff.ts"
import type { McpConnector, McpSessionError } from "../../ports/McpSession.ts"
import { VrlEngine } from "../../ports/VrlEngine.ts"
import { resolveEndpoint } from "./resolveEndpoint.ts"
import type { Inputs } from "../inputs/Inputs.ts"
import { isRunning, type RunningMcpServer, type ServerState, watchedUris } from "./ServersSnapshot.ts"
import type { ServerStateStore } from "./ServerStateStore.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { runSession, type SessionCallbacks } from "./runSession.ts"

/** A session that lasted so long was a good one: waits begin anew after it. */
const stableAfter = Duration.minutes(2)

/** How one attempt to run a server ended. */
interface AttemptEnd {
  readonly reason: string
  /** Trying again would end the same way. */
  readonly isPermanent: boolean
  /** Since when the server was ready, in milliseconds since 1970; nothing if it never was. */
  readonly readySince?: number
}

const attemptEndOf = ({ reason, message }: McpSessionError): AttemptEnd => ({
  reason: message,
  isPermanent: reason === "unauthorized" || reason === "forbidden"
})

const runningState = (
  { config, resources, session, tools }: RunningMcpServer,
  degradations: ReadonlyMap<string, string>
): ServerState => {
  const server = { config, session, tools, resources }
  return degradations.size === 0
    ? { _tag: "Ready", ...server }
    : { _tag: "Degraded", reason: [...degradations.values()].join("; "), ...server }
}

/** What it takes to keep one server running. */
export interface SupervisedServer {
  readonly name: string
  /** What is configured now. */
  readonly setup: () => Setup
  /** False as soon as somebody else decides about this server: what happens here is then nobody's business. */
  readonly isCurrent: () => boolean
  readonly store: ServerStateStore
  readonly secrets: Secrets
}

/** The configuration of a server, while it has one. */
export const serverConfigOf = ({ config: { servers } }: Setup, name: string): ServerConfig | undefined =>
  Object.hasOwn(servers, name) ? servers[name] : undefined

/** Why the script of a server cannot be used, if it has one that cannot. */
const checkScript = Effect.fnUntraced(function* ({ vrl }: ServerConfig) {
  const script = vrlScript(vrl)
  if (script === undefined) return undefined
  const engine = yield* Effect.serviceOption(VrlEngine)
  if (Option.isNone(engine)) return "it has a vrl script, and this Computer has no engine to run it"
  return yield* Effect.match(engine.value.check(script), {
    onFailure: ({ message }) => `its vrl script cannot be used: ${message}`,
    onSuccess: (errors) => (errors === undefined ? undefined : `its vrl script does not compile: ${errors}`)
  })
})

/** One session of a server, from its configuration to its end. */
const runAttempt = Effect.fnUntraced(function* ({
  isCurrent,
  name,
  store,
  secrets,
  setup
}: SupervisedServer): Effect.fn.Return<AttemptEnd, never, Scope.Scope | McpConnector | Inputs> {
  const server = serverConfigOf(setup(), name)
  if (server === undefined) return { reason: "it is not configured any more", isPermanent: true }
  const scriptError = yield* checkScript(server)
  if (scriptError !== undefined) return { reason: scriptError, isPermanent: true }
  const endpoint = yield* Effect.result(resolveEndpoint(server, setup(), secrets))
  if (Result.isFailure(endpoint)) return { reason: endpoint.failure.message, isPermanent: true }
  const degradations = new Map<string, string>()
  const readyAt = yield* Ref.make<number | undefined>(undefined)

  const updateListings = (changes: Partial<RunningMcpServer>) =>
    store.update((states) => {
      const state = states.get(name)
      return isCurrent() && isRunning(state)
        ? new Map(states).set(name, runningState({ ...state, ...changes }, degradations))
        : states
    })
  const callbacks: SessionCallbacks = {
    onReady: (session, listings) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => Ref.set(readyAt, now)).pipe(
        Effect.andThen(
          store.update((states) =>
            isCurrent()
              ? new Map(states).set(
                  name,
                  runningState(
                    { config: serverConfigOf(setup(), name) ?? server, session, ...listings },
                    degradations
                  )
                )
              : states
          )
        ),
        Effect.andThen(
          Effect.logInfo("MCP server ready", {
            server: name,
            tools: listings.tools.length,
            resources: listings.resources.length
          })
        )
      ),
    onListingsChanged: updateListings,
    onHealthChange: (source, reason) =>
      Effect.suspend(() => {
        if (degradations.get(source) === reason) return Effect.void
        if (reason === undefined) degradations.delete(source)
        else degradations.set(source, reason)
        const logged =
          reason === undefined
            ? Effect.logInfo("MCP server is well again", { server: name, about: source })
            : Effect.logWarning("MCP server is degraded", { server: name, reason })
        return Effect.andThen(logged, updateListings({}))
      }),
    onPartChanged: store.markChanged,
    watchedUris: store.changes.pipe(
      Stream.map((states) => states.get(name)),
      Stream.filter(isRunning),
      Stream.changesWith((one, other) => one.resources === other.resources),
      Stream.map(watchedUris)
    )
  }
  const failure = yield* Effect.catch(runSession(name, endpoint.success, secrets, callbacks), (failure) =>
    Effect.succeed(failure)
  )
  const readySince = yield* Ref.get(readyAt)
  return { ...attemptEndOf(failure), ...(readySince !== undefined && { readySince }) }
})

/**
 * Keeps a server running: starts it, again and again with growing waits when it ends, until trying would not help.
 * Calls that an end interrupts are never repeated.
 */
export const superviseServer = Effect.fnUntraced(function* (
  supervised: SupervisedServer
): Effect.fn.Return<void, never, McpConnector | Inputs> {
  const { isCurrent, name, store } = supervised
  const setState = (state: ServerState) =>
    store.update((states) => (isCurrent() ? new Map(states).set(name, state) : states))
  const nextAttemptAt = yield* Ref.make<number | undefined>(undefined)
  let attempt = 1

  /** Says how the attempt ended, and when the next one is due if there is one. */
  const onAttemptEnd = Effect.fnUntraced(function* ({ isPermanent, readySince, reason }: AttemptEnd) {
    if (isPermanent) {
      yield* setState({ _tag: "Failed", reason })
      yield* Effect.logWarning("MCP server failed", { server: name, reason })
      return undefined
    }
    const now = yield* Clock.currentTimeMillis
    if (readySince !== undefined && now - readySince >= Duration.toMillis(stableAfter)) attempt = 1
    const wait = yield* backoffDelay(restartBackoff, attempt)
    attempt++
    const retryAt = now + Duration.toMillis(wait)
    yield* setState({ _tag: "BackingOff", reason, attempt, retryAt })
    const seconds = Duration.toSeconds(wait)
    yield* Effect.logWarning("MCP server does not run, starting it again", { server: name, reason, seconds })
    return retryAt
  })

  while (true) {
    yield* setState({ _tag: "Starting", attempt })
    // What has ended is not offered any more before its session is closed, which may take its time, or fail.
    yield* runAttempt(supervised).pipe(
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("running an MCP server failed", { server: name }, defect), {
          reason: "internal error",
          isPermanent: false
        })
      ),
      Effect.flatMap(onAttemptEnd),
      Effect.flatMap((retryAt) => Ref.set(nextAttemptAt, retryAt)),
      Effect.scoped,
      Effect.catchDefect((defect) =>
        Effect.logError("closing an MCP server failed", { server: name }, defect)
      )
    )
    const retryAt = yield* Ref.get(nextAttemptAt)
    if (retryAt === undefined) return
    const now = yield* Clock.currentTimeMillis
    yield* Effect.sleep(Duration.millis(Math.max(0, retryAt - now)))
  }
})
