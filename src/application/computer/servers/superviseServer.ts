import { Clock, Duration, Effect, Option, type Scope } from "effect"
import type { Setup } from "../../../domain/config/Setup.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { Naming } from "../../../domain/tools/naming.ts"
import { vrlScript } from "../../../domain/tools/vrl.ts"
import { restartBackoff, backoffDelay } from "../../shared/backoff.ts"
import { McpConnector } from "../../ports/McpSession.ts"
import { VrlEngine } from "../../ports/VrlEngine.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Inputs } from "../inputs/Inputs.ts"
import { type LazyServers, runLazily } from "./lazy/runLazily.ts"
import { withLastOffer } from "./ServersSnapshot.ts"
import {
  failureOf,
  internalEnd,
  permanentEnd,
  runSupervisedSession,
  serverConfigOf,
  type SessionEnd,
  type SupervisedServer,
  updateState
} from "./supervisedSession.ts"

/** A session of this duration was stable: the backoff restarts after it. */
const stableAfter = Duration.minutes(2)

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

/** Runs a server once, or a lazy one as often as requests need it. */
const runAttempt = Effect.fnUntraced(function* (
  supervised: SupervisedServer,
  lazyServers: LazyServers
): Effect.fn.Return<SessionEnd, never, Scope.Scope | McpConnector | Inputs> {
  const { name, store, setup } = supervised
  const server = serverConfigOf(setup(), name)
  if (server === undefined) return permanentEnd("not configured")
  const { naming } = store.snapshot()
  const conflict = findIdentityConflict(setup(), naming, name)
  if (conflict !== undefined) {
    return permanentEnd(`'${conflict.name}' has the same bundle id ${naming.serverId(server)}`)
  }
  const scriptError = yield* checkScript(server)
  if (scriptError !== undefined) return permanentEnd(scriptError)
  const { lifecycle } = yield* ComputerSettings
  const { isInProcess = () => false } = yield* McpConnector
  const isLazy = (server.lifecycle ?? lifecycle) === "lazy" && !isInProcess(name)
  return yield* isLazy ? runLazily(supervised, server, lazyServers) : runSupervisedSession(supervised, server)
})

/** Restarts a server with backoff unless its failure is permanent. Calls that a failure interrupts are not retried. */
export const superviseServer = Effect.fnUntraced(function* (
  supervised: SupervisedServer,
  lazyServers: LazyServers
): Effect.fn.Return<void, never, McpConnector | Inputs> {
  const { name } = supervised
  let attempt = 1
  let retryAt: number | undefined

  const onAttemptEnd = Effect.fnUntraced(function* (end: SessionEnd) {
    retryAt = undefined
    const { isPermanent, readySince } = end
    const failure = failureOf(end)
    const { reason } = failure
    if (isPermanent) {
      yield* updateState(supervised, () => ({ _tag: "Failed", ...failure }))
      return yield* Effect.logWarning("MCP server failed", { server: name, reason })
    }
    const now = yield* Clock.currentTimeMillis
    if (readySince !== undefined && now - readySince >= Duration.toMillis(stableAfter)) attempt = 1
    const wait = yield* backoffDelay(restartBackoff, attempt)
    attempt++
    retryAt = now + Duration.toMillis(wait)
    const next = { _tag: "BackingOff", ...failure, attempt, retryAt } as const
    yield* updateState(supervised, (state) => withLastOffer(next, state))
    const retryInSeconds = Duration.toSeconds(wait)
    yield* Effect.logWarning("MCP server exited, restarting", { server: name, reason, retryInSeconds })
  })

  do {
    yield* updateState(supervised, (state) =>
      state?._tag === "Starting" && state.attempt === attempt
        ? state
        : withLastOffer({ _tag: "Starting", attempt }, state)
    )
    // The state changes before the session closes: closing may take long or fail, and the offer must be gone by then.
    yield* runAttempt(supervised, lazyServers).pipe(
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("MCP server supervision failed", { server: name }, defect), internalEnd)
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
