import { Clock, Effect } from "effect"

const nanosOfMilli = 1_000_000n

/** A monotonic time of ours, in milliseconds. */
const ourTime = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / nanosOfMilli))

/**
 * The clock of Redis as far as a node can know it: what it shows here is never less than the true time, and more only by
 * as long as Redis took to answer when it last said what its time was. Before it has said so, it shows nothing of use.
 */
export class RedisTime {
  #ahead = 0

  /** Learns from what Redis says its time was, in milliseconds, when it answered. */
  learning<A, E>(call: Effect.Effect<A, E>, timeOf: (answer: A) => number): Effect.Effect<A, E> {
    return Effect.flatMap(ourTime, (asked) =>
      Effect.tap(call, (answer) =>
        Effect.sync(() => {
          this.#ahead = timeOf(answer) - asked
        })
      )
    )
  }

  /** The time that Redis has by now, in milliseconds. */
  get now(): Effect.Effect<number> {
    return Effect.map(ourTime, (ours) => ours + this.#ahead)
  }
}
