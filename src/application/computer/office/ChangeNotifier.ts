import { type Duration, Effect, FiberSet } from "effect"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { Fingerprints } from "../servers/ServersSnapshot.ts"

/**
 * Notifies the office of changed parts of a Computer. Throttled per part: the first change is notified at once, later
 * ones after `interval`. The last change is always notified, unless the part has changed back by then (spec §9.6).
 */
export const makeChangeNotifier = Effect.fnUntraced(function* (
  notify: (part: ComputerPart) => Effect.Effect<void>,
  initial: Fingerprints,
  interval: Duration.Duration
) {
  const fibers = yield* FiberSet.make<void>()
  const notified = new Map(initial)
  const current = new Map(initial)
  const marked = new Set<ComputerPart>()
  const active = new Set<ComputerPart>()

  const isDue = (part: ComputerPart) => marked.has(part) || current.get(part) !== notified.get(part)

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
      return Effect.asVoid(FiberSet.run(fibers, drain(part)))
    })

  return {
    /** Records the current fingerprints and notifies of parts that differ from the last notification. */
    observe: (fingerprints: Fingerprints) =>
      Effect.suspend(() => {
        for (const [part, fingerprint] of fingerprints) current.set(part, fingerprint)
        return Effect.forEach(fingerprints.keys(), schedule, { discard: true })
      }),
    /** Notifies of a change that the fingerprint does not show. */
    markChanged: (part: ComputerPart) =>
      Effect.suspend(() => {
        marked.add(part)
        return schedule(part)
      })
  }
})
