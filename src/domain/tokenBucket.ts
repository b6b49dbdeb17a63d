/** A rate limit: tokens per second on average, and tokens at once. An infinite rate means no limit. */
export interface RateLimit {
  readonly perSecond: number
  readonly burst: number
}

/** A token bucket with a count of rejections. Mutable: every message of a connection uses it. */
export interface TokenBucket {
  /** Negative after charges for a message that cost more than one token. */
  tokens: number
  /** In milliseconds, as `rejectedSince`. */
  updatedAt: number
  /** The number of rejections since `rejectedSince`. */
  rejections: number
  rejectedSince: number
}

export const makeTokenBucket = ({ burst }: RateLimit, now: number): TokenBucket => ({
  tokens: burst,
  updatedAt: now,
  rejections: 0,
  rejectedSince: 0
})

/** A part of a token that may be missing: fractions are rounded. */
const roundingError = 1e-9

/**
 * Takes one token, or `cost` tokens. Gives 0 on success, else the milliseconds until they are available. `now` is in
 * milliseconds; when it goes backwards the tokens stay unchanged.
 */
export const takeToken = (bucket: TokenBucket, { burst, perSecond }: RateLimit, now: number, cost = 1): number => {
  const elapsed = now - bucket.updatedAt
  if (elapsed !== 0) {
    if (elapsed > 0) bucket.tokens = Math.min(burst, bucket.tokens + (elapsed * perSecond) / 1000)
    bucket.updatedAt = now
  }
  const missing = cost - bucket.tokens
  if (missing > roundingError) return (missing * 1000) / perSecond
  bucket.tokens -= cost
  return 0
}

/**
 * Records a rejection by {@link takeToken}. Gives `first` when the last one is older than the refill time, and
 * `flood` when messages came at more than twice the rate for the refill time.
 */
export const recordRejection = (bucket: TokenBucket, { burst, perSecond }: RateLimit, now: number) => {
  const refillMillis = (burst * 1000) / perSecond
  const isContinuing = bucket.rejections > 0 && Math.abs(now - bucket.rejectedSince) < refillMillis
  if (!isContinuing) {
    bucket.rejections = 1
    bucket.rejectedSince = now
    return "first"
  }
  bucket.rejections += 1
  return bucket.rejections > burst ? "flood" : "again"
}
