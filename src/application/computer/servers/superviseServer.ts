import { Clock, Duration, Effect, Option, Result, type Scope, Stream } from "effect"
import type { Setup } from "../../../domain/config/Setup.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { Naming } from "../../../domain/tools/naming.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { vrlScript } from "../../../domain/tools/vrl.ts"
import { restartBackoff, backoffDelay } from "../../shared/backoff.ts"
import type { McpConnector } from "../../ports/McpSession.ts"
import { VrlEngine } from "../../ports/VrlEngine.ts"
import { resolveEndpoint } from "./resolveEndpoint.ts"
import type { Inputs } from "../inputs/Inputs.ts"
import { isRunning, type RunningMcpServer, type ServerState, watchedUris } from "./ServersSnapshot.ts"
import type { ServerStateStore } from "./ServerStateStore.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { runSession, type SessionCallbacks } from "./runSession.ts"

/** A session of this duration was stable: the backoff restarts after it. */
const stableAfter = Duration.minutes(2)

interface AttemptEnd {
  readonly reason: string
  /** The last line of stderr of the server's process. */
  readonly output?: string
  /** A retry would fail for the same reason. */
  readonly isPermanent: boolean
  /** When the server became ready, in milliseconds since 1970, if it did. */
  readonly readySince?: number | undefined
}

const permanentEnd = (reason: string): AttemptEnd => ({ reason, isPermanent: true })

const runningState = (
  { config, prompts, resources, session, templates, tools }: RunningMcpServer,
  degradations: ReadonlyMap<string, string>
): ServerState => {
  const server = { config, session, tools, resources, prompts, templates }
  return degradations.size === 0
    ? { _tag: "Ready", ...server }
    : { _tag: "Degraded", reason: [...degradations.values()].join("; "), ...server }
}

interface SupervisedServer {
  readonly name: string
  readonly setup: () => Setup
  /** False once another run or a stop has replaced this one, which then must not change the state. */
  readonly isCurrent: () => boolean
  readonly store: ServerStateStore
  readonly secrets: Secrets
}

const updateState = (
  { isCurrent, name, store }: SupervisedServer,
  transition: (state: ServerState | undefined) => ServerState | undefined
) => store.updateServer(name, (state) => (isCurrent() ? transition(state) : state))

export const serverConfigOf = ({ config: { servers } }: Setup, name: string): ServerConfig | undefined =>
  Object.hasOwn(servers, name) ? servers[name] : undefined

/** Finds the earlier server of the configuration that has the same identity in the office. */
export const findIdentityConflict = (
  { config: { servers } }: Setup,
  { serverId }: Naming,
  name: string
): ServerConfig | undefined => {
  const server = servers[name]
  const first = server && Object.values(servers).find((other) => serverId(other) === serverId(server))
  return first?.name === name ? undefined : first
}

/** Gives the reason why the VRL script of a server is unusable. */
const checkScript = Effect.fnUntraced(function* ({ vrl }: ServerConfig) {
  const script = vrlScript(vrl)
  if (script === undefined) return undefined
  const engine = yield* Effect.serviceOption(VrlEngine)
  if (Option.isNone(engine)) return "it has a VRL script, and this Computer has no VRL engine"
  return yield* Effect.match(engine.value.check(script), {
    onFailure: ({ message }) => `VRL script unusable: ${message}`,
    onSuccess: (errors) => (errors === undefined ? undefined : `VRL script does not compile: ${errors}`)
  })
})

/** Runs one session of a server, from its configuration to its end. */
const runAttempt = Effect.fnUntraced(function* (
  supervised: SupervisedServer
): Effect.fn.Return<AttemptEnd, never, Scope.Scope | McpConnector | Inputs> {
  const { name, store, secrets, setup } = supervised
  const server = serverConfigOf(setup(), name)
  if (server === undefined) return permanentEnd("not configured")
  const { naming } = store.snapshot()
  const conflict = findIdentityConflict(setup(), naming, name)
  if (conflict !== undefined) {
    return permanentEnd(`'${conflict.name}' has the same bundle id ${naming.serverId(server)}`)
  }
  const scriptError = yield* checkScript(server)
  if (scriptError !== undefined) return permanentEnd(scriptError)
  const endpoint = yield* Effect.result(resolveEndpoint(server, setup(), secrets))
  if (Result.isFailure(endpoint)) return permanentEnd(endpoint.failure.message)
  const degradations = new Map<string, string>()
  let readySince: number | undefined

  const updateListings = (changes: Partial<RunningMcpServer>) =>
    updateState(supervised, (state) =>
      isRunning(state) ? runningState({ ...state, ...changes }, degradations) : state
    )
  const callbacks: SessionCallbacks = {
    onReady: Effect.fnUntraced(function* (session, listings) {
      readySince = yield* Clock.currentTimeMillis
      yield* updateState(supervised, () => {
        const config = serverConfigOf(setup(), name) ?? server
        return runningState({ config, session, ...listings }, degradations)
      })
      const { resources, tools } = listings
      yield* Effect.logInfo("MCP server ready", { server: name, tools: tools.length, resources: resources.length })
    }),
    onListingsChanged: updateListings,
    onHealthChange: Effect.fnUntraced(function* (source, reason) {
      if (degradations.get(source) === reason) return
      if (reason === undefined) {
        degradations.delete(source)
        yield* Effect.logInfo("MCP server recovered", { server: name, source })
      } else {
        degradations.set(source, reason)
        yield* Effect.logWarning("MCP server degraded", { server: name, reason })
      }
      yield* updateListings({})
    }),
    onPartChanged: store.markChanged,
    watchedUris: store.changes.pipe(
      Stream.map((states) => states.get(name)),
      Stream.filter(isRunning),
      Stream.changesWith((one, other) => one.resources === other.resources),
      Stream.map(watchedUris)
    )
  }
  const { message, output, reason } = yield* Effect.catch(
    runSession(name, endpoint.success, secrets, callbacks),
    Effect.succeed
  )
  const isPermanent = reason === "unauthorized" || reason === "forbidden"
  return { reason: message, isPermanent, readySince, ...definedOnly({ output }) }
})

/** Restarts a server with backoff unless its failure is permanent. Calls that a failure interrupts are not retried. */
export const superviseServer = Effect.fnUntraced(function* (
  supervised: SupervisedServer
): Effect.fn.Return<void, never, McpConnector | Inputs> {
  const { name } = supervised
  const setState = (state: ServerState) => updateState(supervised, () => state)
  let attempt = 1
  let retryAt: number | undefined

  const onAttemptEnd = Effect.fnUntraced(function* ({
    isPermanent,
    output,
    readySince,
    reason: publicReason
  }: AttemptEnd) {
    retryAt = undefined
    const reason = output === undefined ? publicReason : `${publicReason}: ${output}`
    if (isPermanent) {
      yield* setState({ _tag: "Failed", reason, publicReason })
      return yield* Effect.logWarning("MCP server failed", { server: name, reason })
    }
    const now = yield* Clock.currentTimeMillis
    if (readySince !== undefined && now - readySince >= Duration.toMillis(stableAfter)) attempt = 1
    const wait = yield* backoffDelay(restartBackoff, attempt)
    attempt++
    retryAt = now + Duration.toMillis(wait)
    yield* setState({ _tag: "BackingOff", reason, publicReason, attempt, retryAt })
    const retryInSeconds = Duration.toSeconds(wait)
    yield* Effect.logWarning("MCP server exited, restarting", { server: name, reason, retryInSeconds })
  })

  do {
    yield* updateState(supervised, (state) =>
      state?._tag === "Starting" && state.attempt === attempt ? state : { _tag: "Starting", attempt }
    )
    // The state changes before the session closes: closing may take long or fail, and the offer must be gone by then.
    yield* runAttempt(supervised).pipe(
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("MCP server supervision failed", { server: name }, defect), {
          reason: "internal error",
          isPermanent: false
        })
      ),
      Effect.flatMap(onAttemptEnd),
      Effect.scoped,
      Effect.catchDefect((defect) => Effect.logError("MCP server close failed", { server: name }, defect))
    )
    if (retryAt !== undefined) {
      yield* Effect.sleep(Duration.millis(Math.max(0, retryAt - (yield* Clock.currentTimeMillis))))
    }
  } while (retryAt !== undefined)
})
