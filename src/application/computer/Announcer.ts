import { type Duration, Effect, FiberSet, type Scope } from "effect"
import type { Part } from "../../domain/office/notice.ts"

/** How parts of a Computer look now; equal texts mean equal looks. */
export type Looks = ReadonlyMap<Part, string>

/** Tells the office which parts of a Computer have changed. */
export interface Announcer {
  /** These parts look like this now. Told when that is not how they looked when last told. */
  readonly observe: (looks: Looks) => Effect.Effect<void>
  /** A part has changed in a way its look does not show. */
  readonly touch: (part: Part) => Effect.Effect<void>
}

/**
 * Announces the first change of a part at once and gathers those that follow within `pause`: a storm becomes few
 * announcements, the last change is always told, and what has changed back meanwhile is not (spec §9.6).
 */
export const makeAnnouncer = Effect.fnUntraced(function* (
  tell: (part: Part) => Effect.Effect<void>,
  first: Looks,
  pause: Duration.Duration
): Effect.fn.Return<Announcer, never, Scope.Scope> {
  const resting = yield* FiberSet.make<void>()
  const told = new Map(first)
  const now = new Map(first)
  const touched = new Set<Part>()
  const busy = new Set<Part>()

  const isDue = (part: Part) => touched.has(part) || now.get(part) !== told.get(part)

  /** Tells and rests, for as long as there is something to tell. */
  const work = Effect.fnUntraced(function* (part: Part) {
    while (isDue(part)) {
      touched.delete(part)
      const look = now.get(part)
      if (look !== undefined) told.set(part, look)
      yield* tell(part)
      yield* Effect.sleep(pause)
    }
    busy.delete(part)
  })
  const announce = (part: Part): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (busy.has(part) || !isDue(part)) return Effect.void
      busy.add(part)
      return FiberSet.run(resting, work(part), { startImmediately: true })
    }).pipe(Effect.asVoid)

  return {
    observe: (looks) =>
      Effect.suspend(() => {
        for (const [part, look] of looks) now.set(part, look)
        return Effect.forEach([...looks.keys()], announce, { discard: true })
      }),
    touch: (part) =>
      Effect.suspend(() => {
        touched.add(part)
        return announce(part)
      })
  }
})
