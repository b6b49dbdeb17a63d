import { Context, Layer } from "effect"
import type { Refusal } from "../../domain/refusal.ts"

/** A call under way between two sessions. */
export interface Flight {
  /** The office in which it was begun: whoever comes from another one brings no calls along. */
  readonly office: string
  /** Ends the call before its answer has come; nothing when it has ended already. */
  readonly end: (reason: Refusal) => void
}

/** Calls under way by session. */
export interface Flights {
  readonly add: (sid: string, flight: Flight) => void
  readonly remove: (sid: string, flight: Flight) => void
  /** How many of a session are under way. */
  readonly count: (sid: string) => number
  /** Those of a session in an office that are under way now. */
  readonly of: (sid: string, office: string) => ReadonlyArray<Flight>
}

/** Keeps nothing for sessions without calls: nobody may ever tell that one of another node has left. */
export const makeFlights = (): Flights => {
  const flights = new Map<string, Set<Flight>>()
  return {
    add: (sid, flight) => {
      const own = flights.get(sid)
      if (own === undefined) flights.set(sid, new Set([flight]))
      else own.add(flight)
    },
    remove: (sid, flight) => {
      const own = flights.get(sid)
      if (own?.delete(flight) === true && own.size === 0) flights.delete(sid)
    },
    count: (sid) => flights.get(sid)?.size ?? 0,
    of: (sid, office) => [...(flights.get(sid) ?? [])].filter((flight) => flight.office === office)
  }
}

/** Calls of this node's Agents under way, so that they end when one of their sides leaves. */
export class Cancellation extends Context.Service<
  Cancellation,
  {
    /** A call has begun. It counts for both sides until {@link landed}. */
    readonly begun: (agent: string, computer: string, flight: Flight) => void
    readonly landed: (agent: string, computer: string, flight: Flight) => void
    /** The calls of a session in an office that are under way now, to it or from it. */
    readonly of: (sid: string, office: string) => ReadonlyArray<Flight>
    /** How many calls of a session are under way, to it or from it. */
    readonly pending: (sid: string) => number
    /** How many calls are under way. */
    readonly size: () => number
  }
>()("a2c-smcp/application/server/Cancellation") {
  static readonly layer = Layer.sync(Cancellation, () => {
    const flights = makeFlights()
    let total = 0
    return Cancellation.of({
      begun: (agent, computer, flight) => {
        total += 1
        flights.add(agent, flight)
        flights.add(computer, flight)
      },
      landed: (agent, computer, flight) => {
        total -= 1
        flights.remove(agent, flight)
        flights.remove(computer, flight)
      },
      of: flights.of,
      pending: flights.count,
      size: () => total
    })
  })
}
