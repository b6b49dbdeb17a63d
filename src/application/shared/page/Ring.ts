/** Keeps the latest values, at most `capacity`. */
export const makeRing = <A>(capacity: number) => {
  const values: Array<A> = []
  let start = 0
  return {
    /** Adds a value; true when it displaces the oldest one. */
    push: (value: A): boolean => {
      if (values.length < capacity) {
        values.push(value)
        return false
      }
      values[start] = value
      start = (start + 1) % capacity
      return true
    },
    size: () => values.length,
    /** The values, oldest first. */
    values: (): ReadonlyArray<A> => [...values.slice(start), ...values.slice(0, start)],
    clear: () => {
      values.length = 0
      start = 0
    }
  }
}
