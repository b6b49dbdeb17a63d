import { makeTokenBucket, type RateLimit, takeToken, type TokenBucket } from "../../../domain/tokenBucket.ts"

/**
 * How often something may come that is no message, or that nobody asked for: a sign of life every few seconds, a proxy's
 * own among them, is far below it, and what is far above it keeps everybody else waiting.
 */
const rate: RateLimit = { perSecond: 20, burst: 200 }

/** How much of what is of no use a connection may still send. */
export class ViolationBudget {
  #bucket: TokenBucket | undefined
  /** Counts one more; false when that is too many. */
  spend(): boolean {
    const now = performance.now()
    this.#bucket ??= makeTokenBucket(rate, now)
    return takeToken(this.#bucket, rate, now) === 0
  }
}
