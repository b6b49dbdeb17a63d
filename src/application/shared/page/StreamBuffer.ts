import type { PageBatch, PageCall, PageEvent } from "../../../domain/page/PageEvent.ts"
import { makeRing } from "./Ring.ts"

/** `Call` events in a batch, without the ends of calls that the page shows. */
export const maxCallsPerBatch = 10

/** Other events that wait for a slow reader. Older ones are dropped. */
export const maxQueuedEvents = 5000

/** Running calls that wait for space in a batch. Further ones are shown when they change. */
const maxDeferredCalls = 5000

export type StreamBuffer = ReturnType<typeof makeStreamBuffer>

/** Collects the calls of the next batch. `shownCalls` are the running calls that the page shows already. */
const makeCallBuffer = (shownCalls: Iterable<string>) => {
  /** Running calls that the page shows. Grows by batches only, so a reader that takes none bounds it. */
  const shown = new Set(shownCalls)
  /** The last state of each call of the next batch. */
  let calls = new Map<string, PageCall>()
  /** Calls of the next batch that count against {@link maxCallsPerBatch}. */
  let countedCalls = 0
  /** Running calls beyond the maximum: the next batch has them when it has space. */
  const deferred = new Map<string, PageCall>()
  let omittedCalls = 0

  const addCounted = (call: PageCall): void => {
    calls.set(call.id, call)
    countedCalls += 1
  }

  /** Deferred calls have up to half of the next batch: ended ones must not hide them. */
  const hasSpaceForEnded = (): boolean =>
    countedCalls < maxCallsPerBatch - Math.min(deferred.size, maxCallsPerBatch / 2)

  const addDeferred = (): void => {
    for (const [id, call] of deferred) {
      if (countedCalls >= maxCallsPerBatch) return
      deferred.delete(id)
      addCounted(call)
    }
  }

  /** Adds the end of a call without an earlier state. */
  const addEndedCall = (call: PageCall): void => {
    if (hasSpaceForEnded()) addCounted(call)
    else omittedCalls += 1
  }

  return {
    /** Adds the new state of a call. */
    addCall: (call: PageCall): void => {
      const { endedAt, id } = call
      if (calls.has(id)) calls.set(id, call)
      else if (endedAt === undefined) {
        if (deferred.has(id)) deferred.set(id, call)
        else if (countedCalls < maxCallsPerBatch) addCounted(call)
        else if (deferred.size < maxDeferredCalls) deferred.set(id, call)
      } else {
        deferred.delete(id)
        if (shown.has(id)) calls.set(id, call)
        else addEndedCall(call)
      }
    },
    /** True when {@link addEndedCall} does not omit the next call. */
    hasSpaceForEnded,
    addEndedCall,
    /** Counts ended calls that are not shown. */
    omitCalls: (count: number): void => void (omittedCalls += count),
    size: (): number => calls.size + deferred.size + omittedCalls,
    take: (): Pick<PageBatch, "events" | "omittedCalls"> => {
      addDeferred()
      for (const { endedAt, id } of calls.values()) {
        if (endedAt === undefined) shown.add(id)
        else shown.delete(id)
      }
      const taken = {
        events: Array.from(calls.values(), (call): PageEvent => ({ _tag: "Call", call })),
        omittedCalls
      }
      // A cleared map would keep its entries until the next full garbage collection.
      calls = new Map()
      countedCalls = omittedCalls = 0
      return taken
    }
  }
}

/** Collects the events of one stream until its reader takes them. `shownCalls` are the running calls of its snapshot. */
export const makeStreamBuffer = (shownCalls: Iterable<string>) => {
  const { omitCalls, size, take, ...calls } = makeCallBuffer(shownCalls)
  const events = makeRing<PageEvent>(maxQueuedEvents)
  let status: ReadonlyArray<PageEvent> = []
  let droppedEvents = 0

  /** Adds an event that is not about a call. */
  const addEvent = (event: PageEvent): void => {
    if (events.push(event)) droppedEvents += 1
  }

  return {
    ...calls,
    addEvent,
    /** True when the events of another node fit, also those of its snapshot. */
    hasSpace: (): boolean => events.size() < maxQueuedEvents / 5,
    /** Adds the events of another node, which has limited its calls. */
    addOthers: (others: ReadonlyArray<PageEvent>, omitted: number, dropped: number): void => {
      for (const event of others) addEvent(event)
      omitCalls(omitted)
      droppedEvents += dropped
    },
    /** Counts an ended call that is not shown. */
    omitCall: (): void => omitCalls(1),
    /** Sets the events of every second, which replace those that were not taken. */
    setStatus: (next: ReadonlyArray<PageEvent>): void => void (status = next),
    hasEvents: (): boolean => events.size() + size() + status.length + droppedEvents > 0,
    /** Takes all events as a batch. */
    take: (at: number): PageBatch => {
      const { events: callEvents, omittedCalls } = take()
      const all = [...events.values(), ...callEvents, ...status]
      const batch: PageBatch = { _tag: "Batch", at, events: all, omittedCalls, droppedEvents }
      events.clear()
      status = []
      droppedEvents = 0
      return batch
    }
  }
}
