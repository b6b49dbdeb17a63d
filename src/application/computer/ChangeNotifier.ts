import { type Duration, Effect, FiberSet } from "effect"
import type { ComputerPart } from "../../domain/model/Notification.ts"

/**
 * Notifies the office of changed parts of a Computer. Throttled per part: the first change is notified at once, later
 * ones after `interval`. The last change is always notified, unless the part has changed back by then (spec §9.6).
 * `fingerprints` gives the current ones; they are compared only when a notification may be sent. Parts without a
 * fingerprint change when they are marked.
 */
export const makeChangeNotifier = Effect.fnUntraced(function* <Part extends string = ComputerPart>(
  notify: (part: Part) => Effect.Effect<void>,
  fingerprints: () => ReadonlyMap<Part, () => string>,
  interval: Duration.Duration
) {
  const fibers = yield* FiberSet.make<void>()
  const fingerprintOf = (part: Part) => fingerprints().get(part)?.()
  const notified = new Map([...fingerprints().keys()].map((part) => [part, fingerprintOf(part)]))
  const marked = new Set<Part>()
  const active = new Set<Part>()

  const isDue = (part: Part) => marked.has(part) || fingerprintOf(part) !== notified.get(part)

  const drain = Effect.fnUntraced(function* (part: Part) {
    while (isDue(part)) {
      marked.delete(part)
      notified.set(part, fingerprintOf(part))
      yield* notify(part)
      yield* Effect.sleep(interval)
    }
    active.delete(part)
  })
  const schedule = Effect.fnUntraced(function* (part: Part) {
    if (active.has(part) || !isDue(part)) return
    active.add(part)
    yield* FiberSet.run(fibers, drain(part))
  })

  return {
    /** Notifies of parts whose fingerprints differ from the last notification. */
    observe: Effect.suspend(() => Effect.forEach(fingerprints().keys(), schedule, { discard: true })),
    /** Notifies of a change that the fingerprint does not show. */
    markChanged: (part: Part) =>
      Effect.suspend(() => {
        marked.add(part)
        return schedule(part)
      })
  }
})
