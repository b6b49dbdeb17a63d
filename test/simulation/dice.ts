/** Pseudo-random numbers: a seed gives the same numbers on every machine. */
export interface Dice {
  /** An integer from `low` to `high`, inclusive. */
  readonly between: (low: number, high: number) => number
  /** True with this probability. */
  readonly chance: (probability: number) => boolean
  readonly oneOf: <A>(items: readonly [A, ...ReadonlyArray<A>]) => A
}

/** Mixes the bits of a number (the finalizer of MurmurHash3). */
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

/** The number between 0 and 1 for these words and this seed, independent of earlier calls. */
export const fraction = (seed: number, ...words: ReadonlyArray<string | number>): number =>
  absorb(mix(seed), words.join("\u0000")) / 2 ** 32

/** Makes a sequence of numbers; sequences for other purposes are independent of it. */
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
