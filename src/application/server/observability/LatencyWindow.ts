import type { RecentCalls } from "./statusReport.ts"

const slotMillis = 5000
const slotCount = 12
/** Slots of the rate: the current one, and two before. */
const rateSlots = 3

/** Buckets per doubling of the duration: adjacent ones differ by less than a tenth. */
const perDoubling = 8
/** Durations range from 2^-10 ms to 2^22 ms, an hour and ten minutes. */
const minExponent = -10
const bucketCount = (22 - minExponent) * perDoubling

const bucketOf = (millis: number): number => {
  const at = Math.floor((Math.log2(Math.max(millis, 2 ** minExponent)) - minExponent) * perDoubling)
  return Math.min(at, bucketCount - 1)
}
const millisOf = (bucket: number): number => 2 ** ((bucket + 0.5) / perDoubling + minExponent)

/** Keeps the durations of the last minute's calls in constant memory. Times are milliseconds of the epoch. */
export const makeLatencyWindow = (start: number) => {
  /** `at` numbers the five seconds of the epoch that a slot holds. */
  const slots = Array.from({ length: slotCount }, () => ({ at: -1, count: 0, buckets: new Uint32Array(bucketCount) }))

  /** Records a call that ended at `now` after `millis`. */
  const record = (now: number, millis: number) => {
    const at = Math.floor(now / slotMillis)
    const slot = slots[at % slotCount]
    if (slot === undefined) return
    if (slot.at !== at) {
      slot.at = at
      slot.count = 0
      slot.buckets.fill(0)
    }
    const bucket = bucketOf(millis)
    slot.count += 1
    slot.buckets[bucket] = (slot.buckets[bucket] ?? 0) + 1
  }

  const snapshot = (now: number): RecentCalls => {
    const current = Math.floor(now / slotMillis)
    const fresh = slots.filter(({ at }) => at > current - slotCount && at <= current)
    const recentCount = fresh.filter(({ at }) => at > current - rateSlots).reduce((sum, { count }) => sum + count, 0)
    const since = Math.max(start, (current - rateSlots + 1) * slotMillis)
    const perSecond = recentCount / Math.max(1, (now - since) / 1000)
    const total = fresh.reduce((sum, { count }) => sum + count, 0)
    if (total === 0) return { perSecond }
    const quantile = (share: number): number => {
      let left = Math.ceil(share * total)
      for (let bucket = 0; bucket < bucketCount; bucket++) {
        left -= fresh.reduce((sum, { buckets }) => sum + (buckets[bucket] ?? 0), 0)
        if (left <= 0) return millisOf(bucket)
      }
      return millisOf(bucketCount - 1)
    }
    return { perSecond, latency: { p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99) } }
  }

  return { record, snapshot }
}
