import { Iterable } from "effect"
import type { OfficeActivity, PageCall } from "../../../domain/page/PageEvent.ts"
import type { InFlightCall } from "../connections/InFlightCall.ts"
import type { CompletedCall, StartedCall } from "../observability/observers.ts"
import { pageOutcome, parseReply, toPageCall } from "./pageEvents.ts"
import { makeRing } from "../../shared/page/Ring.ts"
import { maxCallsPerBatch, type StreamBuffer } from "../../shared/page/StreamBuffer.ts"

/** Ended calls in a snapshot, the latest ones that a stream has shown. */
export const maxEndedCalls = 500

/** Running calls in a snapshot, the latest ones. */
export const maxRunningCalls = 1000

/** Offices in one report of activity, those with the most calls. */
const maxActiveOffices = 1000

/** A call that runs for less time, in milliseconds, is shown when it ends only. */
const minShownMillis = 20

/** A call in flight, at the node of its Agent. */
type Origin = NonNullable<InFlightCall["origin"]>

type MutableActivity = { -readonly [K in keyof OfficeActivity]: OfficeActivity[K] }

/**
 * Keeps the running calls, the latest ended ones, and the activity of the offices, while a page is open. It runs on the
 * way of every call. Most calls end at once, and of many calls a page shows a few: the others are counted only, because
 * objects that live until the next garbage collection cost more than all else here.
 */
export const makeCallTable = (streams: ReadonlyMap<string, { readonly buffer: StreamBuffer }>) => {
  /** Running calls that were given to the streams. A map of all would move them to the old generation. */
  const running = new Map<number, PageCall>()
  const ended = makeRing<PageCall>(maxEndedCalls)
  /** By line and office: a joined key would be made for every call. */
  let activity = new Map<string, Map<string, MutableActivity>>()

  const countEnd = ({ agent: { office }, line }: StartedCall, node: string, outcome: string): void => {
    let offices = activity.get(line)
    if (offices === undefined) activity.set(line, (offices = new Map()))
    let counts = offices.get(office)
    if (counts === undefined) offices.set(office, (counts = { line, office, node, calls: 0, failed: 0 }))
    counts.calls += 1
    if (outcome !== "ok") counts.failed += 1
  }

  const keep = (call: StartedCall, node: string): PageCall => {
    const shown = toPageCall(call, node)
    running.set(call.serial, shown)
    return shown
  }

  const addCall = (call: PageCall): void => {
    for (const { buffer } of streams.values()) buffer.addCall(call)
  }

  /** The calls in flight that were not given to the streams, the oldest first. Both members of a call may list it. */
  const hiddenOf = (inFlight: Iterable<Origin>): ReadonlyArray<Origin> => {
    const hidden = new Map<number, Origin>()
    for (const origin of inFlight) if (!running.has(origin.serial)) hidden.set(origin.serial, origin)
    return [...hidden.values()].toSorted((one, other) => one.serial - other.serial)
  }

  return {
    report: (call: StartedCall, node: string): void => addCall(keep(call, node)),
    end: (completed: CompletedCall, node: string): void => {
      const { endedAt, serial } = completed
      const before = running.get(serial)
      const isShown = before !== undefined || Iterable.some(streams.values(), ({ buffer }) => buffer.hasSpaceForEnded())
      // Only for the calls that are shown: a parse of each reply would cost more than its routing.
      if (isShown) parseReply(completed)
      const outcome = pageOutcome(completed)
      countEnd(completed, node, outcome)
      if (!isShown) {
        for (const { buffer } of streams.values()) buffer.omitCall()
        return
      }
      running.delete(serial)
      const call = { ...(before ?? toPageCall(completed, node)), endedAt, outcome }
      ended.push(call)
      if (before !== undefined) return addCall(call)
      for (const { buffer } of streams.values()) buffer.addEndedCall(call)
    },
    /** Gives calls in flight to the streams that run for a while at the time `now`: a batch full, the oldest first. */
    showRunning: (inFlight: Iterable<Origin>, node: string, now: number): void => {
      const hidden = hiddenOf(inFlight).filter(({ startedAt }) => startedAt <= now - minShownMillis)
      for (const { describe } of hidden.slice(0, maxCallsPerBatch)) addCall(keep(describe(), node))
    },
    /** The calls of a snapshot: the latest ended ones, then the latest running ones. The streams have all of them. */
    snapshot: (inFlight: Iterable<Origin>, node: string): ReadonlyArray<PageCall> => {
      for (const { describe } of hiddenOf(inFlight)) addCall(keep(describe(), node))
      return [...ended.values(), ...[...running.values()].slice(-maxRunningCalls)]
    },
    /** The activity since it was last taken. */
    takeActivity: (): ReadonlyArray<OfficeActivity> => {
      const all = [...activity.values()].flatMap((offices) => [...offices.values()])
      activity = new Map()
      return all.toSorted((one, other) => other.calls - one.calls).slice(0, maxActiveOffices)
    },
    /** Forgets the running calls, which are not followed without an open page. */
    clearRunning: () => {
      running.clear()
      activity = new Map()
    },
    clearEnded: ended.clear
  }
}
