/** Slope of a line through some points, and its standard error. */
export interface Slope {
  readonly slope: number
  readonly error: number
}

/** Maximum correlation of neighbours: beyond it no number of points suffices. */
const maxLikeness = 0.95

const mean = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

/** A least-squares line and its residuals. */
const fit = (xs: ReadonlyArray<number>, ys: ReadonlyArray<number>) => {
  const [meanX, meanY] = [mean(xs), mean(ys)]
  const spread = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0)
  const slope = xs.reduce((sum, x, index) => sum + (x - meanX) * ((ys[index] ?? 0) - meanY), 0) / spread
  return { spread, slope, rests: ys.map((y, index) => y - meanY - slope * ((xs[index] ?? 0) - meanX)) }
}

const squares = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, one) => sum + one * one, 0)

/**
 * Fits a line by least squares. Correlated neighbours increase the error. It is infinite for fewer than three points.
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

/** Standard errors between a slope and a bound for a verdict. */
export const certainty = 3

/** Verdict on a slope and a bound. */
export type Verdict =
  | { readonly _tag: "Below" }
  | { readonly _tag: "Above" }
  /** Undecided: needs points over this many times the length. */
  | { readonly _tag: "TooShort"; readonly times: number }

/** The error of a slope falls with this power of the length. */
const shrinking = 1.5

/**
 * Compares a slope with a bound, or returns the factor by which the length must grow. A part of the slope,
 * `settling`, may fade with time.
 */
export const verdictOf = ({ error, slope }: Slope, bound: number, settling = 0): Verdict => {
  const margin = certainty * error
  if (slope - margin - settling > bound) return { _tag: "Above" }
  if (slope + margin <= bound) return { _tag: "Below" }
  // Half of the bound is for noise, half for the settling part, which may be all of it.
  const half = bound / 2
  return { _tag: "TooShort", times: Math.max((margin / half) ** (1 / shrinking), slope / half, 1) }
}
