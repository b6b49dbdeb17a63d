import { maxJsonDepth } from "../json.ts"

/** A call whose result a Computer keeps for a while after its end. */
export interface KeptResult {
  readonly isRunning: boolean
  /** Start of a running call, end of another one, in milliseconds of the epoch. */
  readonly updatedAt: number
  /** Approximate size of the result in characters; 0 while the call runs. */
  readonly size: number
}

/** Counts the characters of all strings in a result: they make up nearly all of its size. */
export const estimateSize = (value: unknown, depth = maxJsonDepth): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null || depth === 0) return 8
  return Object.values(value).reduce<number>((sum, member) => sum + estimateSize(member, depth - 1), 0)
}

/** Keys of results that were kept long enough, and of surplus ones, the first ones first, but of no running call. */
export const findSurplus = (
  results: ReadonlyMap<string, KeptResult>,
  limits: { readonly count: number; readonly characters: number; readonly millis: number },
  now: number
): ReadonlyArray<string> => {
  let count = results.size
  let characters = [...results.values()].reduce((sum, { size }) => sum + size, 0)
  return [...results].flatMap(([key, { isRunning, size, updatedAt }]) => {
    const isOver = count > limits.count || characters > limits.characters || now - updatedAt >= limits.millis
    if (isRunning || !isOver) return []
    count--
    characters -= size
    return [key]
  })
}
