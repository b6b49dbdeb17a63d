import { Effect } from "effect"

/** A notification that an Agent passed to its host. */
export interface OfficeEvent {
  /** What an Agent does on `toolList` is to fetch the tools: packages report that as `tools`. */
  readonly kind: "entered" | "left" | "config" | "toolList" | "tools" | "desktop" | "skills"
  /** The name of the Computer. */
  readonly name: string
}

/** The notifications of an Agent, in their order. */
export interface EventLog {
  readonly add: (event: OfficeEvent) => void
  /** The number of events so far. */
  readonly count: () => number
  /** Waits for an event of one of these kinds about a Computer, after the first `since` events. */
  readonly awaitEvent: (since: number, kinds: ReadonlyArray<OfficeEvent["kind"]>, name: string) => Effect.Effect<void>
}

export const makeEventLog = (): EventLog => {
  const events: Array<OfficeEvent> = []
  const waiting = new Set<() => void>()
  return {
    add: (event) => {
      events.push(event)
      for (const look of waiting) look()
    },
    count: () => events.length,
    awaitEvent: (since, kinds, name) =>
      Effect.callback<void>((resume) => {
        const look = () => {
          if (!events.slice(since).some((event) => kinds.includes(event.kind) && event.name === name)) return
          waiting.delete(look)
          resume(Effect.void)
        }
        waiting.add(look)
        look()
        return Effect.sync(() => void waiting.delete(look))
      })
  }
}
