import { Clock, Effect } from "effect"

const nanosPerMilli = 1_000_000n

const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / nanosPerMilli))

/**
 * Estimates the clock of Redis. The estimate is never less than the true time, and exceeds it by at most the round trip
 * of the last sync. Before the first sync it is meaningless.
 */
export class RedisClock {
  #offsetMillis = 0

  /** Syncs with the time of Redis in a reply, in milliseconds. */
  syncFrom<A, E>(call: Effect.Effect<A, E>, timeOf: (reply: A) => number): Effect.Effect<A, E> {
    return Effect.flatMap(monotonicMillis, (sentAt) =>
      Effect.tap(call, (reply) =>
        Effect.sync(() => {
          this.#offsetMillis = timeOf(reply) - sentAt
        })
      )
    )
  }

  /** The estimated time of Redis in milliseconds. */
  get now(): Effect.Effect<number> {
    return Effect.map(monotonicMillis, (ours) => ours + this.#offsetMillis)
  }
}
