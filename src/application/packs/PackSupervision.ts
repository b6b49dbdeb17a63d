import { Clock, Duration, Effect, Exit, Result, Scope } from "effect"
import { restartBackoff } from "../../domain/time/backoff.ts"
import { backoffDelay } from "../shared/backoff.ts"
import type { PackInstaller } from "../ports/packs/PackInstaller.ts"
import { PackError, type PackLoader, type PackSource } from "../ports/packs/PackLoader.ts"
import type { PackStatus } from "./PackTable.ts"
import { makeRunningPack, type PackCallLimits, type RunningPack } from "./RunningPack.ts"
import { asObject } from "../../domain/json.ts"
import { decodePackConfig } from "../../domain/packs/packConfig.ts"
import type { PackFiles } from "../../domain/packs/packNames.ts"
import { parsePackages } from "../../domain/packs/npmPackages.ts"
import { parsePythonPackage } from "../../domain/packs/pythonPackages.ts"
import type { PackFolderEntry } from "../ports/packs/PackFolders.ts"

/** Settings of packs whose `config.yaml` names none. */
interface PackDefaults {
  readonly isolate: boolean
  /** In MiB. */
  readonly memory: number
  readonly limits: PackCallLimits
}

/** A version of a pack that is ready to run. */
type ResolvedPack = Result.Result.Success<ReturnType<typeof resolvePack>>

/** Combines a folder entry, its `config.yaml` and the defaults of the host, or says why the pack cannot run. */
export const resolvePack = (
  { config: given = Result.succeed(undefined), files, path, version }: PackFolderEntry,
  name: string,
  { className, file, language, warnings }: PackFiles,
  { isolate, limits, memory }: PackDefaults
) =>
  Result.gen(function* () {
    const rawConfig = yield* Result.mapError(given, (reason) => `config.yaml cannot be read: ${reason}`)
    const decoded = yield* Result.mapError(decodePackConfig(rawConfig), (reason) => `config.yaml is invalid: ${reason}`)
    const { config } = decoded
    const packages = yield* Result.mapError(
      parsePackages(config.packages, language === "python" ? parsePythonPackage : undefined),
      (reason) => `its packages cannot be installed: ${reason}`
    )
    const isFolder = files !== undefined
    const { concurrency = limits.concurrency } = config
    const timeout = config.timeout === undefined ? limits.timeout : Duration.seconds(config.timeout)
    const source: PackSource = {
      name,
      className,
      language,
      version,
      folder: isFolder ? path : path.slice(0, path.lastIndexOf("/")),
      file: isFolder ? `${path}/${file}` : path,
      config: asObject(rawConfig),
      isolated: isolate || language === "python" || config.isolation === "worker",
      memory: config.memory ?? memory
    }
    return {
      config,
      source,
      packages: packages.specs,
      limits: { ...limits, concurrency, timeout },
      warnings: [...warnings, ...decoded.warnings, ...packages.hints]
    }
  })

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
  { limits, packages, source: resolved, warnings }: ResolvedPack,
  { install, load, onStatus, packScope }: SupervisionContext
): Effect.fn.Return<void> {
  const { folder, language, name } = resolved
  const onFailed = (reason: string) => onStatus({ _tag: "Failed", reason })

  if (packages.length > 0 || language === "python") yield* onStatus({ _tag: "Installing" })
  let hasOutput = false
  const onLine = (line: string) => {
    hasOutput = true
    return Effect.logDebug("installer output", { pack: name, line })
  }
  const [duration, installed] = yield* Effect.timed(Effect.result(install({ folder, language, packages }, onLine)))
  if (Result.isFailure(installed)) return yield* onFailed(installed.failure.message)
  const seconds = Duration.toSeconds(duration)
  if (hasOutput) yield* Effect.logInfo("packages installed", { pack: name, packages, seconds })
  const source: PackSource = { ...resolved, ...installed.success }

  const message = `loading took more than ${Duration.toSeconds(loadTimeout)} seconds`
  const loadTimedOut = () => new PackError({ reason: "unusable", message })
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
