/** A straight line through some points: how steep it is, and the standard error of that. */
export interface Slope {
  readonly slope: number
  readonly error: number
}

/** Neighbours may depend on each other that much at most: beyond it no number of points says anything. */
const maxLikeness = 0.95

const mean = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

/** A line by least squares, and what of the ys it leaves. */
const fit = (xs: ReadonlyArray<number>, ys: ReadonlyArray<number>) => {
  const [meanX, meanY] = [mean(xs), mean(ys)]
  const spread = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0)
  const slope = xs.reduce((sum, x, index) => sum + (x - meanX) * ((ys[index] ?? 0) - meanY), 0) / spread
  return { spread, slope, rests: ys.map((y, index) => y - meanY - slope * ((xs[index] ?? 0) - meanX)) }
}

const squares = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, one) => sum + one * one, 0)

/**
 * Fits a line by least squares. Where neighbouring points lie to the same side of it, the error is larger, since they
 * say less than as many points that know nothing of each other. It is infinite for fewer than three points.
 */
export const slopeOf = (points: ReadonlyArray<readonly [x: number, y: number]>): Slope => {
  const { rests, slope, spread } = fit(
    points.map(([x]) => x),
    points.map(([, y]) => y)
  )
  if (points.length < 3 || spread === 0) return { slope: 0, error: Number.POSITIVE_INFINITY }
  const rest = squares(rests)
  const beside = rests.reduce((total, one, index) => total + one * (rests[index - 1] ?? 0), 0)
  const likeness = rest === 0 ? 0 : Math.min(Math.max(beside / rest, 0), maxLikeness)
  const error = Math.sqrt(rest / (points.length - 2) / spread)
  return { slope, error: error * Math.sqrt((1 + likeness) / (1 - likeness)) }
}

/** How many standard errors a slope must be from a bound to be called steeper or less steep: less is noise. */
export const certainty = 3

/** What can be said of a slope and a bound. */
export type Verdict =
  | { readonly _tag: "Below" }
  | { readonly _tag: "Above" }
  /** Nothing yet: it needs points over so many times the length. */
  | { readonly _tag: "TooShort"; readonly times: number }

/** The error of a slope shrinks with the length of what it is taken from to this power. */
const shrinking = 1.5

/**
 * Is a slope above this bound, or not, with certainty; or how much longer must be looked? So much of the slope may be
 * owed to something that settles: that ever less of it is added the longer one looks.
 */
export const verdictOf = ({ error, slope }: Slope, bound: number, settling = 0): Verdict => {
  const margin = certainty * error
  if (slope - margin - settling > bound) return { _tag: "Above" }
  if (slope + margin <= bound) return { _tag: "Below" }
  // Half of the bound is for noise, half for what settles, of which nobody knows better than that it may be all.
  const half = bound / 2
  return { _tag: "TooShort", times: Math.max((margin / half) ** (1 / shrinking), slope / half, 1) }
}
