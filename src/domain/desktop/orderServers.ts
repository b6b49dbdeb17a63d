/** Compares strings by Unicode code points, independent of the locale. */
const compareCodePoints = (one: string, other: string): number => {
  const left = [...one]
  const right = [...other]
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const difference = (left[index]?.codePointAt(0) ?? 0) - (right[index]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/**
 * Orders servers for the Agent: the most recently used first, then the others by name (seed 001, step 2). `history`
 * names the server of each call, oldest first.
 */
export const orderServers = (servers: Iterable<string>, history: ReadonlyArray<string>): ReadonlyArray<string> => {
  const present = new Set(servers)
  const recent = [...new Set(history.toReversed())].filter((server) => present.has(server))
  const rest = [...present].filter((server) => !recent.includes(server)).sort(compareCodePoints)
  return [...recent, ...rest]
}
