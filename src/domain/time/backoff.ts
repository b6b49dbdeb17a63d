import { Duration } from "effect"

/** Exponential backoff with jitter: delays double from `initial` to `max`. */
export interface Backoff {
  readonly initial: Duration.Duration
  readonly max: Duration.Duration
}

/** For restarts: each starts a process, which is expensive and may exit at once. */
export const restartBackoff: Backoff = { initial: Duration.millis(500), max: Duration.minutes(1) }

/** Largest deviation of a delay, as a fraction of it. */
export const maxJitter = 0.2

/** The delay in milliseconds after an attempt, of which the first is 1. `jitter` is a fraction up to {@link maxJitter}. */
export const backoffMillis = ({ initial, max }: Backoff, attempt: number, jitter: number): number => {
  const doubled = Duration.toMillis(initial) * 2 ** Math.min(attempt - 1, 30)
  return Math.round(Math.min(doubled, Duration.toMillis(max)) * (1 + jitter))
}
