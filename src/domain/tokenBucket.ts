/** So many in a second on average, and so many at once. An infinite rate is none. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** What is left of a rate, and who keeps asking for more. Changed in place: every message of a connection asks it. */
export interface TokenBucket {
  tokens: number
  /** When `tokens` was right, in milliseconds. */
  at: number
  /** How often nothing was left since `refusedSince`, in milliseconds. */
  refused: number
  refusedSince: number
}

/** A bucket from which nothing has been taken. */
export const fullBucket = ({ burst }: Rate, now: number): TokenBucket => ({
  tokens: burst,
  at: now,
  refused: 0,
  refusedSince: 0
})

/** What is missing to one because of fractions that a computer cannot write counts as there. */
const almostOne = 1 - 1e-9

/**
 * Takes one token. Gives 0 when there was one, else the milliseconds until there is. `now` is in milliseconds; where it
 * goes backwards nothing is gained, and nothing is lost.
 */
export const take = (bucket: TokenBucket, { burst, perSecond }: Rate, now: number): number => {
  const elapsed = now - bucket.at
  if (elapsed !== 0) {
    if (elapsed > 0) bucket.tokens = Math.min(burst, bucket.tokens + (elapsed * perSecond) / 1000)
    bucket.at = now
  }
  if (bucket.tokens < almostOne) return ((1 - bucket.tokens) * 1000) / perSecond
  bucket.tokens -= 1
  return 0
}

/** Takes what something has turned out to cost beyond its one token; what is not there is owed. */
export const charge = (bucket: TokenBucket, tokens: number): void => {
  bucket.tokens -= tokens
}

/** How long an empty bucket takes to be full again, in milliseconds. */
const refillTime = ({ burst, perSecond }: Rate): number => (burst * 1000) / perSecond

/**
 * Notes that {@link take} had nothing to give. `first` says that this has not been so for a refill, `flood` that it was
 * asked for at more than twice the rate as long as a refill takes.
 */
export const noteRefusal = (bucket: TokenBucket, rate: Rate, now: number): "first" | "again" | "flood" => {
  const goesOn = bucket.refused > 0 && Math.abs(now - bucket.refusedSince) < refillTime(rate)
  if (!goesOn) {
    bucket.refused = 1
    bucket.refusedSince = now
    return "first"
  }
  bucket.refused += 1
  return bucket.refused > rate.burst ? "flood" : "again"
}
