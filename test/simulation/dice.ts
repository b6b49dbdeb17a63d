/** Numbers that a seed decides: the same seed, the same numbers, on every machine. */
export interface Dice {
  /** A whole number from `low` to `high`, both included. */
  readonly between: (low: number, high: number) => number
  /** True in so many cases of one. */
  readonly chance: (probability: number) => boolean
  readonly oneOf: <A>(items: readonly [A, ...ReadonlyArray<A>]) => A
}

/** Mixes the bits of a number, so that near ones give far ones (the finalizer of MurmurHash3). */
const mix = (bits: number): number => {
  let mixed = bits
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

const absorb = (bits: number, text: string): number => {
  let hash = bits
  for (let at = 0; at < text.length; at++) hash = mix(hash ^ text.charCodeAt(at)) + 0x9e3779b9
  return mix(hash)
}

/** The number between 0 and 1 that belongs to these words under a seed, whatever was asked for before. */
export const fraction = (seed: number, ...words: ReadonlyArray<string | number>): number =>
  absorb(mix(seed), words.join("\u0000")) / 2 ** 32

/** Numbers in a row: those of another purpose do not depend on how many were taken of these. */
export const makeDice = (seed: number, purpose: string): Dice => {
  let taken = 0
  const next = () => fraction(seed, purpose, taken++)
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    between,
    chance: (probability) => next() < probability,
    oneOf: (items) => items[between(0, items.length - 1)] ?? items[0]
  }
}
