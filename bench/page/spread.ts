import { median, quantile } from "../relay/statistics.ts"

/**
 * Formats the median of values, their quartiles, and the 95 % interval of the median: by the binomial distribution, so
 * it assumes nothing about theirs.
 */
export const formatSpread = (label: string, values: ReadonlyArray<number>): string => {
  const margin = 0.98 / Math.sqrt(values.length)
  const at = (share: number) => quantile(values, Math.min(1, Math.max(0, share))).toFixed(3)
  const interval = `95 % interval ${at(0.5 - margin)} to ${at(0.5 + margin)}`
  return `${label}: ${median(values).toFixed(3)} (${interval}, quartiles ${at(0.25)} to ${at(0.75)}, ${values.length} values)`
}
