import { Clock, Effect } from "effect"

const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/**
 * Estimates the clock of Redis in milliseconds. The estimate is never less than the true time, and exceeds it by at most
 * the round trip of the last sync. Before the first sync it is meaningless.
 */
export class RedisClock {
  #offsetMillis = 0
  readonly now = Effect.map(monotonicMillis, (ours) => ours + this.#offsetMillis)

  /** Syncs with the time of Redis in a reply. */
  syncFrom<A, E>(call: Effect.Effect<A, E>, timeOf: (reply: A) => number): Effect.Effect<A, E> {
    return Effect.flatMap(monotonicMillis, (sentAt) =>
      Effect.map(call, (reply) => {
        this.#offsetMillis = timeOf(reply) - sentAt
        return reply
      })
    )
  }
}
