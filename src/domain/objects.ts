/** The same object type without members whose value is `undefined`. */
type DefinedOnly<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Copies an object without its undefined members, for types with exact optional properties. */
export const definedOnly = <T extends object>(members: T): DefinedOnly<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as DefinedOnly<T>

/** True when both arrays hold the same items in the same order, compared by identity. */
export const isShallowEqual = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index])

/** Makes a function that computes the result for each object once, with the first further arguments. */
export const computeOnce = <K extends object, Args extends ReadonlyArray<unknown>, A extends object | string>(
  compute: (key: K, ...args: Args) => A
) => {
  const known = new WeakMap<K, A>()
  return (key: K, ...args: Args): A => {
    const before = known.get(key)
    if (before !== undefined) return before
    const result = compute(key, ...args)
    known.set(key, result)
    return result
  }
}
