import { Clock, Duration, Effect, Exit, Result, Scope } from "effect"
import { restartBackoff, backoffDelay } from "../shared/backoff.ts"
import type { PackInstaller } from "../ports/packs/PackInstaller.ts"
import { PackError, type PackLoader } from "../ports/packs/PackLoader.ts"
import type { PackStatus } from "./PackTable.ts"
import type { ResolvedPack } from "./resolvePack.ts"
import { makeRunningPack, type RunningPack } from "./RunningPack.ts"

interface SupervisionContext extends Pick<PackLoader["Service"], "load">, Pick<PackInstaller["Service"], "install"> {
  /** Scope in which packs run; it outlives the supervisor. */
  readonly packScope: Scope.Scope
  /** Receives every change of the status; `running` comes with `Ready`, and the receiver drains it. */
  readonly onStatus: (status: PackStatus, running?: RunningPack) => Effect.Effect<void>
}

const loadTimeout = Duration.seconds(30)

/** A pack that ran this long resets the backoff. */
const stableAfter = Duration.minutes(1)

/**
 * Keeps one version of a pack running: installs its packages, loads it, and reloads it with backoff after an exit. Ends
 * when installing or loading fails. Interruption does not stop the running pack: the receiver of `onStatus` drains it.
 */
export const supervisePack = Effect.fnUntraced(function* (
  { limits, packages, source, warnings }: ResolvedPack,
  { install, load, onStatus, packScope }: SupervisionContext
): Effect.fn.Return<void> {
  const { folder, name } = source
  const onFailed = (reason: string) => onStatus({ _tag: "Failed", reason })

  if (packages.length > 0) {
    yield* onStatus({ _tag: "Installing" })
    const installed = yield* Effect.result(
      install(folder, packages, (line) => Effect.logInfo("npm output", { pack: name, line }))
    )
    if (Result.isFailure(installed)) return yield* onFailed(installed.failure.message)
  }

  const loadTimedOut = () => {
    const message = `loading took more than ${Duration.toSeconds(loadTimeout)} seconds`
    return Effect.fail(new PackError({ reason: "unusable", message }))
  }
  // Uninterruptible from loading to the report: otherwise no component owns the loaded pack.
  const loadPack = Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(packScope)
      const loaded = yield* load(source).pipe(
        Effect.timeoutOrElse({ duration: loadTimeout, orElse: loadTimedOut }),
        restore,
        Scope.provide(scope),
        Effect.onError(() => Scope.close(scope, Exit.void))
      )
      const running = makeRunningPack(name, loaded, scope, limits)
      const { routes, tools } = loaded.manifest
      yield* onStatus({ _tag: "Ready", tools, routes, warnings }, running)
      return running
    })
  )

  let attempt = 1
  while (true) {
    yield* onStatus({ _tag: "Loading" })
    const startedAt = yield* Clock.currentTimeMillis
    const outcome = yield* Effect.result(loadPack)
    if (Result.isFailure(outcome)) return yield* onFailed(outcome.failure.message)
    const running = outcome.success
    const reason = yield* running.loaded.exited
    yield* onFailed(`restarting after exit: ${reason}`)
    yield* running.drain
    if ((yield* Clock.currentTimeMillis) - startedAt >= Duration.toMillis(stableAfter)) attempt = 1
    const delay = yield* backoffDelay(restartBackoff, attempt++)
    const delaySeconds = Duration.toSeconds(delay)
    yield* Effect.logWarning("pack exited, restarting", { pack: name, reason, delaySeconds })
    yield* Effect.sleep(delay)
  }
})
