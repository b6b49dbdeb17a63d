import { Iterable } from "effect"
import type { PageBatch, PageCall, PageEvent } from "../../../domain/page/PageEvent.ts"

/** `Call` events in a batch, without the changes of calls that the page shows. */
export const maxCallsPerBatch = 10

/** Other events that wait for a slow reader. Older ones are dropped. */
export const maxQueuedEvents = 5000

/** Running calls that wait for space in a batch. Further ones are shown when they change. */
const maxWaitingCalls = 5000

export type StreamBuffer = ReturnType<typeof makeStreamBuffer>

/** Collects the events of one stream until its reader takes them. `shownCalls` are the running calls of its snapshot. */
export const makeStreamBuffer = (shownCalls: Iterable<string>) => {
  /** Running calls that the page shows. Grows by batches only, so a reader that takes none bounds it. */
  const shown = new Set(shownCalls)
  /** The last states of those that have changed. */
  let changed = new Map<string, PageCall>()
  /** Running calls that the page does not show yet: the next batches have them when they have space. */
  const waiting = new Map<string, PageCall>()
  /** Calls that ended before the page showed them. */
  let ended: Array<PageCall> = []
  let events: Array<PageEvent> = []
  let status: ReadonlyArray<PageEvent> = []
  let omittedCalls = 0
  let droppedEvents = 0

  /** Running calls have up to half of the next batch: ended ones must not hide them. */
  const hasSpaceForEnded = (): boolean => ended.length < maxCallsPerBatch - Math.min(waiting.size, maxCallsPerBatch / 2)

  /** Adds the end of a call without an earlier state. */
  const addEndedCall = (call: PageCall): void => {
    if (hasSpaceForEnded()) ended.push(call)
    else omittedCalls += 1
  }

  /** Adds an event that is not about a call of this node. */
  const addEvent = (event: PageEvent): void => {
    events.push(event)
    if (events.length <= maxQueuedEvents) return
    events.shift()
    droppedEvents += 1
  }

  /** Takes the calls of the next batch. */
  const takeCalls = (): ReadonlyArray<PageCall> => {
    const started = [...Iterable.take(waiting.values(), maxCallsPerBatch - ended.length)]
    for (const { endedAt, id } of changed.values()) if (endedAt !== undefined) shown.delete(id)
    for (const { id } of started) if (waiting.delete(id)) shown.add(id)
    const calls = [...changed.values(), ...ended, ...started]
    // A cleared map would keep its entries until the next full garbage collection.
    changed = new Map()
    ended = []
    return calls
  }

  return {
    /** Adds the new state of a call. */
    addCall: (call: PageCall): void => {
      const { endedAt, id } = call
      if (shown.has(id)) changed.set(id, call)
      else if (endedAt !== undefined) {
        waiting.delete(id)
        addEndedCall(call)
      } else if (waiting.has(id) || waiting.size < maxWaitingCalls) waiting.set(id, call)
    },
    /** True when {@link addEndedCall} does not omit the next call. */
    hasSpaceForEnded,
    addEndedCall,
    /** Counts an ended call that is not shown. */
    omitCall: (): void => void (omittedCalls += 1),
    addEvent,
    /** True when the events of another node fit, also those of its snapshot. */
    hasSpace: (): boolean => events.length < maxQueuedEvents / 5,
    /** Adds the events of another node, which has limited its calls. */
    addBatch: (batch: PageBatch): void => {
      for (const event of batch.events) addEvent(event)
      omittedCalls += batch.omittedCalls
      droppedEvents += batch.droppedEvents
    },
    /** Sets the events of every second, which replace those that were not taken. */
    setStatus: (next: ReadonlyArray<PageEvent>): void => void (status = next),
    hasEvents: (): boolean =>
      changed.size + waiting.size + ended.length + events.length + status.length + omittedCalls + droppedEvents > 0,
    take: (at: number): PageBatch => {
      const calls = takeCalls().map((call): PageEvent => ({ _tag: "Call", call }))
      const batch = { at, events: [...events, ...calls, ...status], omittedCalls, droppedEvents }
      events = []
      status = []
      omittedCalls = droppedEvents = 0
      return batch
    }
  }
}
