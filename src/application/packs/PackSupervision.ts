import { Clock, Duration, Effect, Exit, Result, Scope } from "effect"
import type { PackConfig } from "../../domain/packs/config.ts"
import { startingAgain, waitAfter } from "../backOff.ts"
import { PackInstaller } from "../ports/PackInstaller.ts"
import { PackFailure, PackLoader, type PackSource } from "../ports/PackLoader.ts"
import { type CallLimits, makeRunningPack, type RunningPack } from "./PackCalls.ts"

/** A version of a pack that shall run. */
export interface WantedPack {
  readonly source: PackSource
  readonly config: PackConfig
  /** Its packages, as npm names them. */
  readonly packages: ReadonlyArray<string>
  readonly limits: CallLimits
}

/** What a version of a pack has to say to whoever hosts it. */
export interface PackReports {
  readonly installing: Effect.Effect<void>
  readonly loading: Effect.Effect<void>
  readonly ready: (pack: RunningPack) => Effect.Effect<void>
  readonly failed: (reason: string) => Effect.Effect<void>
}

/** How long the code of a pack may take until it can be called. */
const loadTime = Duration.seconds(30)

/** A worker that lasted so long was a good one: waits begin anew after it. */
const stableAfter = Duration.minutes(1)

/**
 * Keeps one version of a pack running: installs what it needs, loads it, and loads it again when what ran it is gone.
 * Ends when trying again would not help. Interrupting it leaves alone what runs: whoever heard of it retires it, and
 * what is left ends with the scope of all `packs`.
 */
export const supervisePack = Effect.fnUntraced(function* (
  { limits, packages, source }: WantedPack,
  { failed, installing, loading, ready }: PackReports,
  packs: Scope.Scope
): Effect.fn.Return<void, never, PackLoader | PackInstaller> {
  const { load } = yield* PackLoader
  const { install } = yield* PackInstaller
  const { folder, name } = source

  if (packages.length > 0) {
    yield* installing
    const installed = yield* Effect.result(
      install(folder, packages, (line) => Effect.logInfo("installing", { pack: name, line }))
    )
    if (Result.isFailure(installed)) return yield* failed(installed.failure.message)
  }

  const late = new PackFailure({
    kind: "unusable",
    message: `it was not loaded within ${Duration.toSeconds(loadTime)} seconds`
  })
  /** Loads it and says so in one: nobody else would ever end what was loaded. */
  const start = Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(packs)
      const loaded = yield* load(source).pipe(
        Effect.timeoutOrElse({ duration: loadTime, orElse: () => Effect.fail(late) }),
        restore,
        Scope.provide(scope),
        Effect.onError(() => Scope.close(scope, Exit.void))
      )
      const running = makeRunningPack(name, loaded, scope, limits)
      yield* ready(running)
      return running
    })
  )

  let attempt = 1
  while (true) {
    yield* loading
    const since = yield* Clock.currentTimeMillis
    const outcome = yield* Effect.result(start)
    if (Result.isFailure(outcome)) return yield* failed(outcome.failure.message)
    const running = outcome.success
    const reason = yield* running.loaded.ended
    yield* failed(`it is loaded again soon: ${reason}`)
    yield* running.retire
    if ((yield* Clock.currentTimeMillis) - since >= Duration.toMillis(stableAfter)) attempt = 1
    const wait = yield* waitAfter(startingAgain, attempt++)
    yield* Effect.logWarning("pack ended, loading it again", {
      pack: name,
      reason,
      seconds: Duration.toSeconds(wait)
    })
    yield* Effect.sleep(wait)
  }
})
