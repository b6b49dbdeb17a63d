/** True when both arrays hold the same items in the same order, compared by identity. */
export const isShallowEqual = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index])
