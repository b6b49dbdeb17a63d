import { makeTokenBucket, type RateLimit, takeToken, type TokenBucket } from "../../../domain/tokenBucket.ts"

/** Far above the rate of keepalive frames, those of proxies included. */
const rate: RateLimit = { perSecond: 20, burst: 200 }

/** Rate limit for frames that are no message, and for acknowledgements without a request. */
export class ConnectionBudget {
  #bucket: TokenBucket | undefined
  /** Counts a frame; false when the budget is exceeded. */
  spend(): boolean {
    const now = performance.now()
    this.#bucket ??= makeTokenBucket(rate, now)
    return takeToken(this.#bucket, rate, now) === 0
  }
}
