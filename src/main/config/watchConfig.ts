import { Effect, Stream, SubscriptionRef } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { keepRuntimeChanges, diffSetups, type Setup } from "../../domain/config/Setup.ts"
import { readConfigFiles } from "./configFiles.ts"
import { type ConfigDiagnostic, formatDiagnostic } from "./documents.ts"
import { fileChanges } from "./fileChanges.ts"
import { reloadRequests } from "./hangup.ts"

const logDiagnostics = Effect.forEach((diagnostic: ConfigDiagnostic) =>
  Effect.logWithLevel(diagnostic.severity === "error" ? "Error" : "Warn")(formatDiagnostic(diagnostic))
)

const isSameSetup = (one: Setup, other: Setup): boolean => {
  const { added, isReportedConfigChanged, reconfigured, removed, restarted } = diffSetups(one, other)
  return !isReportedConfigChanged && [added, restarted, removed, reconfigured].flat().length === 0
}

/** The configuration that a Computer was started with. */
export interface WatchedConfig {
  readonly files: ReadonlyArray<string>
  readonly setup: Setup
  readonly sources: ReadonlyArray<string>
  /** Reload on every change of a file; otherwise only on request. */
  readonly isWatching: boolean
}

/** Reconfigures a running Computer when its files change. Files with errors are logged, and change nothing. */
export const watchConfig = Effect.fnUntraced(function* ({ files, isWatching, setup, sources }: WatchedConfig) {
  const computer = yield* Computer
  const watched = yield* SubscriptionRef.make(sources)
  let previous = setup
  let lastErrors: string | undefined

  const reload = Effect.fnUntraced(function* (trigger: "initial" | "change" | "SIGHUP") {
    const loaded = yield* readConfigFiles(files)
    const errors = loaded.setup === undefined ? loaded.diagnostics.map(formatDiagnostic).join("\n") : undefined
    const isKnown = errors === lastErrors && (loaded.setup === undefined || isSameSetup(previous, loaded.setup))
    lastErrors = errors
    // Saving a file with errors again reports them again.
    if (isKnown && (trigger === "initial" || (trigger === "change" && errors === undefined))) return
    yield* logDiagnostics(loaded.diagnostics)
    yield* SubscriptionRef.update(watched, (now) => (now.join() === loaded.sources.join() ? now : loaded.sources))
    if (loaded.setup === undefined) return yield* Effect.logError("configuration not reloaded", { reason: "invalid" })
    const next = keepRuntimeChanges(yield* computer.setup, previous, loaded.setup)
    previous = loaded.setup
    const { added, restarted, removed, reconfigured } = yield* computer.reconfigure(next)
    yield* Effect.logInfo("configuration reloaded", { added, removed, restarted, reconfigured })
  })

  const edits = isWatching ? Stream.switchMap(SubscriptionRef.changes(watched), fileChanges) : Stream.never
  return yield* Stream.runForEach(Stream.merge(edits, reloadRequests), reload)
})
