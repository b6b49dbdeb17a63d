import { Effect, Random } from "effect"
import type { Fault } from "./faults.ts"

/** A fault with its times, in seconds from the start. */
export interface Planned {
  readonly fault: Fault
  readonly at: number
  readonly lasting: number
}

/** Minimum and maximum seconds between the starts of two faults. */
const gap = [1.5, 4.5] as const

/** Seconds without another fault for a part after a fault. */
const rest = 2

/**
 * Plans faults from a seed. Each kind happens once before one repeats, no part has two faults at once, and all end
 * within the given seconds.
 */
export const planOf = (
  faults: ReadonlyArray<Fault>,
  seconds: number,
  seed: number
): Effect.Effect<ReadonlyArray<Planned>> =>
  Effect.gen(function* () {
    const byKind = Map.groupBy(faults, ({ kind }) => kind)
    const free = new Map<string, number>()
    const plan: Array<Planned> = []
    let kinds: ReadonlyArray<string> = []
    for (let at = 0; at < seconds; at += yield* Random.nextBetween(...gap)) {
      if (kinds.length === 0) kinds = yield* Random.shuffle(byKind.keys())
      const left = seconds - at
      const possible = (kind: string) =>
        (byKind.get(kind) ?? []).filter(({ lasting: [, most], part }) => (free.get(part) ?? 0) <= at && most <= left)
      const kind = kinds.find((one) => possible(one).length > 0)
      if (kind === undefined) continue
      kinds = kinds.filter((one) => one !== kind)
      const [fault] = yield* Random.shuffle(possible(kind))
      if (fault === undefined) continue
      const lasting = yield* Random.nextBetween(...fault.lasting)
      plan.push({ fault, at, lasting })
      free.set(fault.part, at + lasting + rest)
    }
    return plan
  }).pipe(Random.withSeed(seed))
