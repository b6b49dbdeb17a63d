import { randomFrom } from "../domain/devices/streams.ts"

/** Random whole numbers from 0 up to a bound, which is at least 1. */
export type Random = (bound: number) => number

/** Spreads what numbers have in common (FNV-1a, by bytes). */
const spread = (bytes: Uint8Array): number => {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

/** The random numbers of one input: the same for the same seed, surface and number of the input. */
export const randomOf = (seed: number, surface: string, index: number): Random => {
  const random = randomFrom(spread(Buffer.from(`${surface} ${seed} ${index}`)))
  // The first number of neighbouring seeds are neighbours, too.
  random(1)
  return random
}

/** True once in so many times. */
export const oneIn = (random: Random, times: number): boolean => random(times) === 0

/** One of several things. */
export const pick = <A>(random: Random, from: ReadonlyArray<A>): A => {
  const found = from[random(from.length)]
  if (found === undefined) throw new Error("there is nothing to pick from")
  return found
}
