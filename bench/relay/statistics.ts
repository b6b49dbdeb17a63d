/** The quantile of values. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(share * (values.length - 1))] ?? Number.NaN

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  const at = (index: number) => sorted[index] ?? Number.NaN
  return Number.isInteger(middle) ? (at(middle - 1) + at(middle)) / 2 : at(Math.floor(middle))
}

/** Shuffles a copy. */
export const shuffled = <A>(things: ReadonlyArray<A>): ReadonlyArray<A> =>
  things
    .map((thing) => ({ thing, key: Math.random() }))
    .toSorted((one, other) => one.key - other.key)
    .map(({ thing }) => thing)
