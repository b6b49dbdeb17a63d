/** A straight line through some points: how steep it is, and the standard error of that. */
export interface Slope {
  readonly slope: number
  readonly error: number
}

/** Fits a line by least squares. The error is infinite for fewer than three points: any slope is as good. */
export const slopeOf = (points: ReadonlyArray<readonly [x: number, y: number]>): Slope => {
  const count = points.length
  const mean = (which: 0 | 1) => points.reduce((sum, point) => sum + point[which], 0) / count
  const [meanX, meanY] = [mean(0), mean(1)]
  const sum = (of: (x: number, y: number) => number) =>
    points.reduce((total, [x, y]) => total + of(x - meanX, y - meanY), 0)
  const spread = sum((x) => x * x)
  if (count < 3 || spread === 0) return { slope: 0, error: Number.POSITIVE_INFINITY }
  const slope = sum((x, y) => x * y) / spread
  const rest = sum((x, y) => (y - slope * x) ** 2)
  return { slope, error: Math.sqrt(rest / (count - 2) / spread) }
}

/** How many standard errors a slope must be above a bound to be called steeper: less is noise. */
const certainty = 3

/** Is a slope above this bound, and is that more than noise? */
export const isSteeper = ({ error, slope }: Slope, bound: number): boolean =>
  slope - certainty * error > bound
