import { type Duration, Effect, FiberSet, type Scope } from "effect"
import type { ComputerPart } from "../../../domain/model/Notification.ts"

/** How parts of a Computer look now; equal texts mean equal looks. */
export type Fingerprints = ReadonlyMap<ComputerPart, string>

/** Tells the office which parts of a Computer have changed. */
export interface ChangeNotifier {
  /** These parts look like this now. Told when that is not how they looked when last told. */
  readonly observe: (fingerprints: Fingerprints) => Effect.Effect<void>
  /** A part has changed in a way its look does not show. */
  readonly markChanged: (part: ComputerPart) => Effect.Effect<void>
}

/**
 * Announces the first change of a part at once and gathers those that follow within `pause`: a storm becomes few
 * announcements, the last change is always told, and what has changed back meanwhile is not (spec §9.6).
 */
export const makeChangeNotifier = Effect.fnUntraced(function* (
  notify: (part: ComputerPart) => Effect.Effect<void>,
  initial: Fingerprints,
  interval: Duration.Duration
): Effect.fn.Return<ChangeNotifier, never, Scope.Scope> {
  const fibers = yield* FiberSet.make<void>()
  const notified = new Map(initial)
  const current = new Map(initial)
  const marked = new Set<ComputerPart>()
  const active = new Set<ComputerPart>()

  const isDue = (part: ComputerPart) => marked.has(part) || current.get(part) !== notified.get(part)

  /** Tells and rests, for as long as there is something to tell. */
  const drain = Effect.fnUntraced(function* (part: ComputerPart) {
    while (isDue(part)) {
      marked.delete(part)
      const fingerprint = current.get(part)
      if (fingerprint !== undefined) notified.set(part, fingerprint)
      yield* notify(part)
      yield* Effect.sleep(interval)
    }
    active.delete(part)
  })
  const schedule = (part: ComputerPart): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (active.has(part) || !isDue(part)) return Effect.void
      active.add(part)
      return FiberSet.run(fibers, drain(part), { startImmediately: true })
    }).pipe(Effect.asVoid)

  return {
    observe: (fingerprints) =>
      Effect.suspend(() => {
        for (const [part, fingerprint] of fingerprints) current.set(part, fingerprint)
        return Effect.forEach([...fingerprints.keys()], schedule, { discard: true })
      }),
    markChanged: (part) =>
      Effect.suspend(() => {
        marked.add(part)
        return schedule(part)
      })
  }
})
