import { Context, Effect, type Fiber, Layer } from "effect"
import type { Refusal } from "../../domain/refusal.ts"

/** A call under way between two sessions. */
interface Flight {
  /** Ends the call before its answer has come. */
  readonly end: (reason: Refusal) => void
}

/**
 * Calls under way, so that they end when one of their sides leaves. Ending a call is interrupting it; whoever waits
 * for it still gets exactly one answer.
 */
export class Cancellation extends Context.Service<
  Cancellation,
  {
    /**
     * Runs a call between two sessions. When it is interrupted, or fails after the Computer may have begun,
     * `giveUp` runs; a call ended by {@link end} fails with the refusal given there.
     */
    readonly guard: <A, E>(
      sides: { readonly agent: string; readonly computer: string },
      call: Effect.Effect<A, E>,
      giveUp: Effect.Effect<void>
    ) => Effect.Effect<A, E | Refusal>
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
    const add = (sid: string, flight: Flight) => {
      const own = flights.get(sid)
      if (own === undefined) flights.set(sid, new Set([flight]))
      else own.add(flight)
    }
    const remove = (sid: string, flight: Flight) => {
      const own = flights.get(sid)
      if (own?.delete(flight) === true && own.size === 0) flights.delete(sid)
    }

    const guard = <A, E>(
      { agent, computer }: { readonly agent: string; readonly computer: string },
      call: Effect.Effect<A, E>,
      giveUp: Effect.Effect<void>
    ): Effect.Effect<A, E | Refusal> =>
      Effect.withFiber<A, E | Refusal>(({ context }) =>
        Effect.callback((resume) => {
          let waiting: Fiber.Fiber<A, E> | undefined
          let ended = false
          const stop = () => {
            ended = true
            waiting?.interruptUnsafe()
          }
          const flight: Flight = {
            end: (reason) => {
              resume(Effect.fail(reason))
              stop()
            }
          }
          // Registered before it starts: whoever it reaches may leave before the start has returned.
          add(agent, flight)
          add(computer, flight)
          waiting = Effect.runForkWith(context)(call)
          waiting.addObserver((exit) => {
            remove(agent, flight)
            remove(computer, flight)
            resume(exit)
          })
          if (ended) stop()
          return Effect.sync(stop)
        })
      ).pipe(Effect.onError(() => giveUp))

    const end = (sid: string, reason: Refusal) =>
      Effect.sync(() => {
        for (const flight of new Set(flights.get(sid))) flight.end(reason)
      })

    const size = () => [...flights.values()].reduce((sum, own) => sum + own.size, 0) / 2
    const pending = (sid: string) => flights.get(sid)?.size ?? 0
    return Cancellation.of({ guard, end, pending, size })
  })
}
