import { randomFrom } from "../domain/devices/streams.ts"

/** Gives random integers from 0 below a bound of at least 1. */
export type Random = (bound: number) => number

/** Hashes numbers (FNV-1a, by bytes). */
const spread = (bytes: Uint8Array): number => {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

/** The random numbers of one input, determined by the seed, the surface and the number of the input. */
export const randomOf = (seed: number, surface: string, index: number): Random => {
  const random = randomFrom(spread(Buffer.from(`${surface} ${seed} ${index}`)))
  // The first numbers of adjacent seeds are correlated.
  random(1)
  return random
}

/** True once in this number of times, on average. */
export const oneIn = (random: Random, times: number): boolean => random(times) === 0

/** Picks an item. */
export const pick = <A>(random: Random, from: ReadonlyArray<A>): A => {
  const found = from[random(from.length)]
  if (found === undefined) throw new Error("there is nothing to pick from")
  return found
}
