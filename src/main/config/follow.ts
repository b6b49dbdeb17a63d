import { Effect, Stream, SubscriptionRef } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { carryOver, compareSetups, type Setup } from "../../domain/config/setup.ts"
import { type Finding, readConfigFiles, spellFinding } from "./files.ts"
import { changesOf, firstLook, hangups } from "./watching.ts"

const tell = (findings: ReadonlyArray<Finding>) =>
  Effect.forEach(
    findings,
    (finding) =>
      finding.severity === "error"
        ? Effect.logError(spellFinding(finding))
        : Effect.logWarning(spellFinding(finding)),
    { discard: true }
  )

const isSame = (one: Setup, other: Setup): boolean => {
  const { added, changed, isVisible, removed, retuned } = compareSetups(one, other)
  return !isVisible && [added, changed, removed, retuned].every((names) => names.length === 0)
}

/** What a Computer was started with. */
export interface Followed {
  readonly files: ReadonlyArray<string>
  readonly setup: Setup
  readonly sources: ReadonlyArray<string>
  /** Read the files again whenever they change; otherwise only on SIGHUP. */
  readonly isWatching: boolean
}

/** Applies what changes in the files of a Computer while it runs. A faulty edit changes nothing. */
export const followConfig = Effect.fnUntraced(function* ({ files, isWatching, setup, sources }: Followed) {
  const computer = yield* Computer
  const watched = yield* SubscriptionRef.make(sources)
  let before = setup
  /** What was wrong with the files when they were read last. */
  let wrong: string | undefined

  const reload = Effect.fnUntraced(function* (why: "look" | "change" | "SIGHUP") {
    const reading = yield* readConfigFiles(files)
    const fault = reading.setup === undefined ? reading.findings.map(spellFinding).join("\n") : undefined
    const isKnown = fault === wrong && (reading.setup === undefined || isSame(before, reading.setup))
    wrong = fault
    // A person who saves a faulty file again wants to hear that it still is.
    if (isKnown && (why === "look" || (why === "change" && fault === undefined))) return
    yield* tell(reading.findings)
    yield* SubscriptionRef.update(watched, (now) =>
      now.join() === reading.sources.join() ? now : reading.sources
    )
    if (reading.setup === undefined) return yield* Effect.logError("configuration not changed: it has errors")
    const next = carryOver(yield* computer.setup, before, reading.setup)
    before = reading.setup
    const { added, changed, removed, retuned } = yield* computer.reconfigure(next)
    yield* Effect.logInfo("configuration read again", {
      added,
      removed,
      restarted: changed,
      changed: retuned
    })
  })

  const edits = isWatching
    ? Stream.switchMap(SubscriptionRef.changes(watched), (now) =>
        Stream.merge(
          firstLook,
          Stream.map(Stream.unwrap(changesOf(now)), () => "change" as const)
        )
      )
    : Stream.never
  return yield* Stream.runForEach(Stream.merge(edits, hangups), reload)
})
