/** So many in a second on average, and so many at once. An infinite rate is none. */
export interface RateLimit {
  readonly perSecond: number
  readonly burst: number
}

/** What is left of a rate, and who keeps asking for more. Changed in place: every message of a connection asks it. */
export interface TokenBucket {
  tokens: number
  /** When `tokens` was right, in milliseconds. */
  updatedAt: number
  /** How often nothing was left since `refusedSince`, in milliseconds. */
  rejections: number
  rejectedSince: number
}

/** A bucket from which nothing has been taken. */
export const makeTokenBucket = ({ burst }: RateLimit, now: number): TokenBucket => ({
  tokens: burst,
  updatedAt: now,
  rejections: 0,
  rejectedSince: 0
})

/** What is missing to one because of fractions that a computer cannot write counts as there. */
const wholeTokenThreshold = 1 - 1e-9

/**
 * Takes one token. Gives 0 when there was one, else the milliseconds until there is. `now` is in milliseconds; where it
 * goes backwards nothing is gained, and nothing is lost.
 */
export const takeToken = (bucket: TokenBucket, { burst, perSecond }: RateLimit, now: number): number => {
  const elapsed = now - bucket.updatedAt
  if (elapsed !== 0) {
    if (elapsed > 0) bucket.tokens = Math.min(burst, bucket.tokens + (elapsed * perSecond) / 1000)
    bucket.updatedAt = now
  }
  if (bucket.tokens < wholeTokenThreshold) return ((1 - bucket.tokens) * 1000) / perSecond
  bucket.tokens -= 1
  return 0
}

/** Takes what something has turned out to cost beyond its one token; what is not there is owed. */
export const chargeTokens = (bucket: TokenBucket, tokens: number): void => {
  bucket.tokens -= tokens
}

/** How long an empty bucket takes to be full again, in milliseconds. */
const refillMillis = ({ burst, perSecond }: RateLimit): number => (burst * 1000) / perSecond

/**
 * Notes that {@link takeToken} had nothing to give. `first` says that this has not been so for a refill, `flood` that it was
 * asked for at more than twice the rate as long as a refill takes.
 */
export const recordRejection = (
  bucket: TokenBucket,
  rate: RateLimit,
  now: number
): "first" | "again" | "flood" => {
  const isContinuing = bucket.rejections > 0 && Math.abs(now - bucket.rejectedSince) < refillMillis(rate)
  if (!isContinuing) {
    bucket.rejections = 1
    bucket.rejectedSince = now
    return "first"
  }
  bucket.rejections += 1
  return bucket.rejections > rate.burst ? "flood" : "again"
}
