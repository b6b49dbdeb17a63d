import { Context, Effect, Layer } from "effect"
import type { Refusal } from "../../domain/refusal.ts"

/** A call under way between two sessions. */
export interface Flight {
  /** Ends the call before its answer has come. */
  readonly end: (reason: Refusal) => void
}

/** Calls under way, so that they end when one of their sides leaves. */
export class Cancellation extends Context.Service<
  Cancellation,
  {
    /** A call has begun. It counts for both sides until {@link landed}. */
    readonly begun: (agent: string, computer: string, flight: Flight) => void
    readonly landed: (agent: string, computer: string, flight: Flight) => void
    /** Ends every call of a session. */
    readonly end: (sid: string, reason: Refusal) => Effect.Effect<void>
    /** How many calls of a session are under way, to it or from it. */
    readonly pending: (sid: string) => number
    /** How many calls are under way. */
    readonly size: () => number
  }
>()("a2c-smcp/application/server/Cancellation") {
  static readonly layer = Layer.sync(Cancellation, () => {
    const flights = new Map<string, Set<Flight>>()
    let total = 0
    const add = (sid: string, flight: Flight) => {
      const own = flights.get(sid)
      if (own === undefined) flights.set(sid, new Set([flight]))
      else own.add(flight)
    }
    // Nothing is kept for a session without calls: nobody may ever tell that one of another node has left.
    const remove = (sid: string, flight: Flight) => {
      const own = flights.get(sid)
      if (own?.delete(flight) === true && own.size === 0) flights.delete(sid)
    }

    return Cancellation.of({
      begun: (agent, computer, flight) => {
        total += 1
        add(agent, flight)
        add(computer, flight)
      },
      landed: (agent, computer, flight) => {
        total -= 1
        remove(agent, flight)
        remove(computer, flight)
      },
      end: (sid, reason) =>
        Effect.sync(() => {
          const own = flights.get(sid)
          flights.delete(sid)
          if (own !== undefined) for (const flight of own) flight.end(reason)
        }),
      pending: (sid) => flights.get(sid)?.size ?? 0,
      size: () => total
    })
  })
}
