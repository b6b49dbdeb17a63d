import type { Sample } from "./sampling.ts"
import { certainty, type Slope, type Verdict, slopeOf, verdictOf } from "./slope.ts"

/** Trend of a resource after the warm-up. The slope is per hour. */
export interface Growth extends Slope {
  readonly what: string
  /** Means of the first and of the last quarter. */
  readonly first: number
  readonly last: number
}

const hour = 60 * 60 * 1000
const kibibyte = 1024

/** The resources, in the units of the report. */
const measures: ReadonlyArray<readonly [what: string, of: (sample: Sample) => number | undefined]> = [
  ["live memory, KB", ({ live }) => live / kibibyte],
  ["compiled code, KB", ({ code }) => code / kibibyte],
  ["RSS, KB", ({ rss }) => rss / kibibyte],
  ["open files", ({ files }) => files],
  ["handles and timers", ({ handles }) => handles],
  ["event loop busy, %", ({ busy }) => busy]
]

/** Share of the samples that belongs to the warm-up, when most code is compiled and the heap grows to its size. */
export const warmUp = 0.25

/** Minimum warm-up in milliseconds. */
const leastWarmUp = 2 * 60 * 1000

/** The valid samples: those after the warm-up with the Server at rest. */
const countedOf = (samples: ReadonlyArray<Sample>): ReadonlyArray<Sample> => {
  const from = Math.max((samples.at(-1)?.at ?? 0) * warmUp, leastWarmUp)
  return samples.filter(({ at, rested }) => rested && at >= from)
}

const mean = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

/** The trends of all resources. */
export const growthOf = (samples: ReadonlyArray<Sample>): ReadonlyArray<Growth> => {
  const counted = countedOf(samples)
  const quarter = Math.max(Math.floor(counted.length / 4), 1)
  return measures.flatMap(([what, of]) => {
    const points = counted.flatMap((one) => {
      const value = of(one)
      return value === undefined ? [] : [[one.at / hour, value] as const]
    })
    if (points.length === 0) return []
    const values = points.map(([, value]) => value)
    return [
      {
        what,
        first: mean(values.slice(0, quarter)),
        last: mean(values.slice(-quarter)),
        ...slopeOf(points)
      }
    ]
  })
}

/** The verdict on a run. */
export interface Judgement {
  readonly verdict: Verdict["_tag"]
  readonly words: string
}

/** KB that V8 adds to live memory while the time since the start grows by a factor of e. Measured: about 110. */
const settlingPerFold = 256

/** Slope that V8 alone may cause in these samples, in KB per hour. */
const settlingOf = (samples: ReadonlyArray<Sample>): number =>
  settlingPerFold * slopeOf(samples.map(({ at }) => [at / hour, Math.log(at)])).slope

/** Suggested duration without samples, in minutes. */
const defaultMinutes = 30

/** Compares the slope of live memory with a bound in KB per hour. Returns the required duration while undecided. */
export const judge = (samples: ReadonlyArray<Sample>, bound: number, minutes: number): Judgement => {
  const counted = countedOf(samples)
  const live = slopeOf(counted.map((one) => [one.at / hour, one.live / kibibyte]))
  const settling = settlingOf(counted)
  const verdict = verdictOf(live, bound, settling)
  const kilobytes = (value: number) => value.toFixed(0)
  const margin = certainty * live.error
  switch (verdict._tag) {
    case "Below":
      return {
        verdict: verdict._tag,
        words: `flat: live memory grows by less than ${kilobytes(live.slope + margin)} KB an hour, of ${bound} allowed`
      }
    case "Above":
      return {
        verdict: verdict._tag,
        words: `GROWS: live memory grows by more than ${kilobytes(live.slope - margin - settling)} KB an hour, of ${bound} allowed`
      }
    case "TooShort": {
      const needed = Number.isFinite(verdict.times)
        ? Math.ceil(minutes * verdict.times)
        : Math.max(defaultMinutes, minutes + 1)
      return {
        verdict: verdict._tag,
        words:
          `too short to judge: ${kilobytes(live.slope)} ± ${kilobytes(live.error)} KB an hour, of which ` +
          `${kilobytes(settling)} may settle; run at least ${needed} minutes`
      }
    }
  }
}
