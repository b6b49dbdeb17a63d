import { Clock, Effect } from "effect"

const nanosPerMilli = 1_000_000n

/** A monotonic time of ours, in milliseconds. */
const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / nanosPerMilli))

/**
 * The clock of Redis as far as a node can know it: what it shows here is never less than the true time, and more only by
 * as long as Redis took to answer when it last said what its time was. Before it has said so, it shows nothing of use.
 */
export class RedisClock {
  #offsetMillis = 0

  /** Learns from what Redis says its time was, in milliseconds, when it answered. */
  syncFrom<A, E>(call: Effect.Effect<A, E>, timeOf: (reply: A) => number): Effect.Effect<A, E> {
    return Effect.flatMap(monotonicMillis, (sentAt) =>
      Effect.tap(call, (reply) =>
        Effect.sync(() => {
          this.#offsetMillis = timeOf(reply) - sentAt
        })
      )
    )
  }

  /** The time that Redis has by now, in milliseconds. */
  get now(): Effect.Effect<number> {
    return Effect.map(monotonicMillis, (ours) => ours + this.#offsetMillis)
  }
}
