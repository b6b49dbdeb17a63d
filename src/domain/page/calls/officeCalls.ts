import { durationOf, isToolCall } from "./callPhase.ts"
import type { OfficeAddress } from "../PageEvent.ts"
import type { PageState, TrackedCall } from "../PageState.ts"
import type { ComputerName } from "../../model/ids.ts"

/** The largest number of rows of a lane; further calls share the last one. */
export const maxLaneRows = 6

/** The calls of the tools of an office, the latest start first; on demand also the requests of members for lists and the like. */
export const callsOfOffice = (state: PageState, { line, office }: OfficeAddress, hasHousekeeping = false) =>
  [...state.calls.values()]
    .filter(({ call }) => call.office === office && call.line === line && (hasHousekeeping || isToolCall(call)))
    .toSorted((one, other) => other.call.startedAt - one.call.startedAt)

/** Calls of one Computer that overlap in time stand in several rows. */
const arrangeLane = (computer: ComputerName, entries: ReadonlyArray<TrackedCall>) => {
  /** The end of the last call of each row. */
  const ends: Array<number> = []
  const calls = entries
    .toSorted((one, other) => one.call.startedAt - other.call.startedAt)
    .map((entry) => {
      const free = ends.findIndex((end) => end <= entry.call.startedAt)
      const row = free >= 0 ? free : Math.min(ends.length, maxLaneRows - 1)
      ends[row] = entry.call.endedAt ?? Number.POSITIVE_INFINITY
      return { entry, row }
    })
  return { computer, calls, rows: Math.max(1, ends.length) }
}

/** One lane for each Computer, and for each other name in the calls, in the order of names. */
export const arrangeLanes = (computers: ReadonlyArray<string>, entries: ReadonlyArray<TrackedCall>) => {
  const byComputer = Map.groupBy(entries, ({ call }) => call.computer)
  return [...new Set([...computers, ...byComputer.keys()])]
    .toSorted()
    .map((computer) => arrangeLane(computer, byComputer.get(computer) ?? []))
}

export type CallLane = ReturnType<typeof arrangeLane>

/** The calls that run at some time from `from` to `to`. */
export const callsBetween = (
  entries: ReadonlyArray<TrackedCall>,
  from: number,
  to: number
): ReadonlyArray<TrackedCall> => entries.filter(({ call }) => call.startedAt <= to && (call.endedAt ?? to) >= from)

/**
 * The phases of a call as adjacent segments, with times in milliseconds of the epoch. The outcome takes the place of the phase in
 * which the tool ran.
 */
export const segmentsOf = ({ call, phases }: TrackedCall, now: number) => {
  const end = Math.max(call.startedAt, call.endedAt ?? now)
  const segments = phases.map(({ at, phase }, index) => ({
    phase,
    from: index === 0 ? call.startedAt : at,
    to: phases[index + 1]?.at ?? end
  }))
  const before = segments.at(-2)
  const last = segments.at(-1)
  if (call.endedAt === undefined || last === undefined || before?.phase !== "running") return segments
  return [...segments.slice(0, -2), { ...last, from: before.from }]
}

/** The smallest value that at least this share of the values does not exceed; `undefined` without values. */
export const percentile = (values: ReadonlyArray<number>, share: number): number | undefined =>
  values.toSorted((one, other) => one - other)[Math.max(0, Math.ceil(values.length * share) - 1)]

/** How long a call has waited for consent, in milliseconds. */
const consentMillis = (entry: TrackedCall): number =>
  segmentsOf(entry, 0).reduce((sum, { from, phase, to }) => (phase === "consent" ? sum + to - from : sum), 0)

/** Percentiles of the durations of the ended calls in milliseconds, without their waits for consent; missing without such calls. */
export const latencyOf = (entries: ReadonlyArray<TrackedCall>) => {
  const ended = entries.filter(({ call }) => call.endedAt !== undefined)
  const durations = ended.map((entry) => Math.max(0, durationOf(entry.call, 0) - consentMillis(entry)))
  const p50 = percentile(durations, 0.5)
  const p99 = percentile(durations, 0.99)
  return p50 === undefined || p99 === undefined ? undefined : { p50, p99 }
}
