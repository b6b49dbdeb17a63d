import { Clock, Duration, Effect, Exit, Result, Scope } from "effect"
import type { PackConfig } from "../../domain/packs/packConfig.ts"
import { restartBackoff, backoffDelay } from "../shared/backoff.ts"
import { PackInstaller } from "../ports/packs/PackInstaller.ts"
import { PackError, PackLoader, type PackSource } from "../ports/packs/PackLoader.ts"
import { type PackCallLimits, makeRunningPack, type RunningPack } from "./RunningPack.ts"

/** A version of a pack that shall run. */
export interface DesiredPack {
  readonly source: PackSource
  readonly config: PackConfig
  /** Its packages, as npm names them. */
  readonly packages: ReadonlyArray<string>
  readonly limits: PackCallLimits
}

/** What a version of a pack has to say to whoever hosts it. */
export interface PackObserver {
  readonly onInstalling: Effect.Effect<void>
  readonly onLoading: Effect.Effect<void>
  readonly onReady: (pack: RunningPack) => Effect.Effect<void>
  readonly onFailed: (reason: string) => Effect.Effect<void>
}

/** How long the code of a pack may take until it can be called. */
const loadTimeout = Duration.seconds(30)

/** A worker that lasted so long was a good one: waits begin anew after it. */
const stableAfter = Duration.minutes(1)

/**
 * Keeps one version of a pack running: installs what it needs, loads it, and loads it again when what ran it is gone.
 * Ends when trying again would not help. Interrupting it leaves alone what runs: whoever heard of it retires it, and
 * what is left ends with the scope of all `packs`.
 */
export const supervisePack = Effect.fnUntraced(function* (
  { limits, packages, source }: DesiredPack,
  { onFailed, onInstalling, onLoading, onReady }: PackObserver,
  packScope: Scope.Scope
): Effect.fn.Return<void, never, PackLoader | PackInstaller> {
  const { load } = yield* PackLoader
  const { install } = yield* PackInstaller
  const { folder, name } = source

  if (packages.length > 0) {
    yield* onInstalling
    const installed = yield* Effect.result(
      install(folder, packages, (line) => Effect.logInfo("installing", { pack: name, line }))
    )
    if (Result.isFailure(installed)) return yield* onFailed(installed.failure.message)
  }

  const loadTimedOut = new PackError({
    reason: "unusable",
    message: `it was not loaded within ${Duration.toSeconds(loadTimeout)} seconds`
  })
  /** Loads it and says so in one: nobody else would ever end what was loaded. */
  const loadPack = Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(packScope)
      const loaded = yield* load(source).pipe(
        Effect.timeoutOrElse({ duration: loadTimeout, orElse: () => Effect.fail(loadTimedOut) }),
        restore,
        Scope.provide(scope),
        Effect.onError(() => Scope.close(scope, Exit.void))
      )
      const running = makeRunningPack(name, loaded, scope, limits)
      yield* onReady(running)
      return running
    })
  )

  let attempt = 1
  while (true) {
    yield* onLoading
    const startedAt = yield* Clock.currentTimeMillis
    const outcome = yield* Effect.result(loadPack)
    if (Result.isFailure(outcome)) return yield* onFailed(outcome.failure.message)
    const running = outcome.success
    const reason = yield* running.loaded.exited
    yield* onFailed(`it is loaded again soon: ${reason}`)
    yield* running.drain
    if ((yield* Clock.currentTimeMillis) - startedAt >= Duration.toMillis(stableAfter)) attempt = 1
    const delay = yield* backoffDelay(restartBackoff, attempt++)
    yield* Effect.logWarning("pack ended, loading it again", {
      pack: name,
      reason,
      seconds: Duration.toSeconds(delay)
    })
    yield* Effect.sleep(delay)
  }
})
