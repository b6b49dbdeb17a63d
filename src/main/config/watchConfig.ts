import { Effect, Stream, SubscriptionRef } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { keepRuntimeChanges, diffSetups, type Setup } from "../../domain/config/Setup.ts"
import { type ConfigDiagnostic, readConfigFiles, formatDiagnostic } from "./configFiles.ts"
import { fileChanges, initialCheck, hangupSignals } from "./fileChanges.ts"

const logDiagnostics = (diagnostics: ReadonlyArray<ConfigDiagnostic>) =>
  Effect.forEach(
    diagnostics,
    (diagnostic) =>
      diagnostic.severity === "error"
        ? Effect.logError(formatDiagnostic(diagnostic))
        : Effect.logWarning(formatDiagnostic(diagnostic)),
    { discard: true }
  )

const isSameSetup = (one: Setup, other: Setup): boolean => {
  const { added, restarted, isReportedConfigChanged, removed, reconfigured } = diffSetups(one, other)
  return (
    !isReportedConfigChanged && [added, restarted, removed, reconfigured].every((names) => names.length === 0)
  )
}

/** What a Computer was started with. */
export interface WatchedConfig {
  readonly files: ReadonlyArray<string>
  readonly setup: Setup
  readonly sources: ReadonlyArray<string>
  /** Read the files again whenever they change; otherwise only on SIGHUP. */
  readonly isWatching: boolean
}

/** Applies what changes in the files of a Computer while it runs. A faulty edit changes nothing. */
export const watchConfig = Effect.fnUntraced(function* ({
  files,
  isWatching,
  setup,
  sources
}: WatchedConfig) {
  const computer = yield* Computer
  const watched = yield* SubscriptionRef.make(sources)
  let previous = setup
  /** What was wrong with the files when they were read last. */
  let lastErrors: string | undefined

  const reload = Effect.fnUntraced(function* (trigger: "look" | "change" | "SIGHUP") {
    const loaded = yield* readConfigFiles(files)
    const errors =
      loaded.setup === undefined ? loaded.diagnostics.map(formatDiagnostic).join("\n") : undefined
    const isKnown =
      errors === lastErrors && (loaded.setup === undefined || isSameSetup(previous, loaded.setup))
    lastErrors = errors
    // A person who saves a faulty file again wants to hear that it still is.
    if (isKnown && (trigger === "look" || (trigger === "change" && errors === undefined))) return
    yield* logDiagnostics(loaded.diagnostics)
    yield* SubscriptionRef.update(watched, (now) =>
      now.join() === loaded.sources.join() ? now : loaded.sources
    )
    if (loaded.setup === undefined) return yield* Effect.logError("configuration not changed: it has errors")
    const next = keepRuntimeChanges(yield* computer.setup, previous, loaded.setup)
    previous = loaded.setup
    const { added, restarted, removed, reconfigured } = yield* computer.reconfigure(next)
    yield* Effect.logInfo("configuration read again", {
      added,
      removed,
      restarted,
      changed: reconfigured
    })
  })

  const edits = isWatching
    ? Stream.switchMap(SubscriptionRef.changes(watched), (now) =>
        Stream.merge(
          initialCheck,
          Stream.map(Stream.unwrap(fileChanges(now)), () => "change" as const)
        )
      )
    : Stream.never
  return yield* Stream.runForEach(Stream.merge(edits, hangupSignals), reload)
})
