/** Keeps values by id, oldest first, up to a total size and a number: the oldest ones are dropped. */
export const makeKeptValues = <A>(
  sizeOf: (value: A) => number,
  maxSize: number,
  maxCount: number = Number.POSITIVE_INFINITY
) => {
  const kept = new Map<string, A>()
  let size = 0

  const remove = (id: string): void => {
    const value = kept.get(id)
    if (value !== undefined && kept.delete(id)) size -= sizeOf(value)
  }

  return {
    /** Adds a value as the newest one, also in the place of one with the same id. */
    put: (id: string, value: A): void => {
      remove(id)
      kept.set(id, value)
      size += sizeOf(value)
      for (const oldest of kept.keys()) {
        if (kept.size <= maxCount && size <= maxSize) return
        remove(oldest)
      }
    },
    get: (id: string): A | undefined => kept.get(id),
    removeIf: (isDue: (value: A) => boolean): void => {
      for (const [id, value] of kept) if (isDue(value)) remove(id)
    },
    usage: () => ({ count: kept.size, size })
  }
}
