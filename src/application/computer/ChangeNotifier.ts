import { type Duration, Effect } from "effect"
import type { ComputerPart } from "../../domain/model/Notification.ts"
import { makeRefresher } from "../shared/Refresher.ts"

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
  const { isRefreshing, refresh } = yield* makeRefresher(interval)
  const fingerprintOf = (part: Part) => fingerprints().get(part)?.()
  const notified = new Map([...fingerprints().keys()].map((part) => [part, fingerprintOf(part)]))
  const marked = new Set<Part>()

  const isDue = (part: Part) => marked.has(part) || fingerprintOf(part) !== notified.get(part)

  const notifyIfDue = (part: Part) =>
    Effect.suspend(() => {
      if (!isDue(part)) return Effect.void
      marked.delete(part)
      notified.set(part, fingerprintOf(part))
      return notify(part)
    })
  const schedule = (part: Part) => refresh(part, notifyIfDue(part))

  return {
    /** Notifies of parts whose fingerprints differ from the last notification. */
    observe: Effect.suspend(() => {
      const wanted = [...fingerprints().keys()].filter((part) => isRefreshing(part) || isDue(part))
      return Effect.forEach(wanted, schedule, { discard: true })
    }),
    /** Notifies of a change that the fingerprint does not show. */
    markChanged: (part: Part) =>
      Effect.suspend(() => {
        marked.add(part)
        return schedule(part)
      })
  }
})
