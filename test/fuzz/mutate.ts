import { mutateTree } from "./mutateTree.ts"
import { oneIn, pick, type Random } from "./random.ts"
import type { Surface } from "./Surface.ts"

/** The material for inputs. */
export type Source = Pick<Surface, "corpus" | "words" | "longest">

type Mutator = (bytes: Buffer, random: Random, source: Source) => Buffer

/** An offset in some bytes, or their end. */
const place = (bytes: Buffer, random: Random): number => random(bytes.length + 1)

/** Two ordered offsets, often close together, since tokens are short. */
const span = (bytes: Buffer, random: Random): readonly [from: number, to: number] => {
  const from = place(bytes, random)
  const longest = oneIn(random, 4) ? bytes.length : 16
  return [from, Math.min(bytes.length, from + 1 + random(longest + 1))]
}

const insert = (bytes: Buffer, at: number, more: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)])

const edgeBytes = [0x00, 0x01, 0x0a, 0x0d, 0x1e, 0x20, 0x22, 0x2c, 0x5c, 0x7f, 0x80, 0xc0, 0xff]

/** Invalid UTF-8: truncated, overlong, a lone surrogate, beyond the last code point, a stray continuation. */
const notUtf8 = ["c3", "c080", "eda080", "f4908080", "80", "fffe", "e282"].map((hex) => Buffer.from(hex, "hex"))

const numbers = [
  ["0", "-0", "-1"],
  ["1e309", "1e-400", "0.1"],
  ["NaN", "null", "00"],
  ["127", "256", "65536", "2147483648", "4294967295"],
  ["9007199254740993", "99999999999999999999999", "1e21", "true"]
].flat()

/** Nesting depths: near the limit, and seldom deep enough to overflow the stack of a recursion. */
const depths = { defaults: [1, 2, 9, 10, 127, 128, 129], great: [300, 20_000] }

const brackets: ReadonlyArray<readonly [string, string]> = [
  ["[", "]"],
  ['{"a":', "}"],
  ["(", ")"],
  ["${", "}"],
  ["%", "25"]
]

const repetitions = { defaults: [2, 3, 20], great: [300, 5000] }

/** One input in this number is large: large inputs take time. */
const seldom = 25

const sizeOf = (random: Random, { great, defaults }: typeof depths): number =>
  pick(random, oneIn(random, seldom) ? great : defaults)

const mutators: ReadonlyArray<Mutator> = [
  // Flips a bit.
  (bytes, random) => {
    if (bytes.length === 0) return bytes
    const changed = Buffer.from(bytes)
    const at = random(bytes.length)
    changed[at] = (changed[at] ?? 0) ^ (1 << random(8))
    return changed
  },
  // Replaces a byte.
  (bytes, random) => {
    if (bytes.length === 0) return bytes
    const changed = Buffer.from(bytes)
    changed[random(bytes.length)] = pick(random, edgeBytes)
    return changed
  },
  // Truncates the end or the beginning.
  (bytes, random) =>
    oneIn(random, 4) ? bytes.subarray(place(bytes, random)) : bytes.subarray(0, place(bytes, random)),
  // Removes a part.
  (bytes, random) => {
    const [from, to] = span(bytes, random)
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
  },
  // Repeats a part.
  (bytes, random) => {
    const [from, to] = span(bytes, random)
    const times = sizeOf(random, repetitions)
    return insert(bytes, from, Buffer.from(bytes.toString("latin1", from, to).repeat(times), "latin1"))
  },
  // Takes the end of another input.
  (bytes, random, { corpus }) => {
    const other = pick(random, corpus)
    return Buffer.concat([bytes.subarray(0, place(bytes, random)), other.subarray(place(other, random))])
  },
  // Inserts a part of another input.
  (bytes, random, { corpus }) => {
    const other = pick(random, corpus)
    const [from, to] = span(other, random)
    return insert(bytes, place(bytes, random), other.subarray(from, to))
  },
  // Inserts a token, or replaces a part by it.
  (bytes, random, { words }) => {
    const word = Buffer.from(pick(random, words))
    const [from, to] = span(bytes, random)
    return oneIn(random, 2)
      ? insert(bytes, from, word)
      : Buffer.concat([bytes.subarray(0, from), word, bytes.subarray(to)])
  },
  // Nests a part.
  (bytes, random) => {
    const [from, to] = span(bytes, random)
    const [open, close] = pick(random, brackets)
    const depth = sizeOf(random, depths)
    return Buffer.concat([
      bytes.subarray(0, from),
      Buffer.from(open.repeat(depth)),
      bytes.subarray(from, to),
      Buffer.from(close.repeat(depth)),
      bytes.subarray(to)
    ])
  },
  // Replaces a number.
  (bytes, random) => {
    const text = bytes.toString("latin1")
    const found = [...text.matchAll(/-?\d+(?:\.\d+)?/g)]
    if (found.length === 0) return bytes
    const { 0: digits, index } = pick(random, found)
    const other = pick(random, numbers)
    return Buffer.from(`${text.slice(0, index)}${other}${text.slice(index + digits.length)}`, "latin1")
  },
  // Inserts invalid UTF-8.
  (bytes, random) => insert(bytes, place(bytes, random), pick(random, notUtf8)),
  // Mutates the JSON: listed three times, since it gets furthest.
  mutateTree,
  mutateTree,
  mutateTree
]

/** Longer inputs have few mutations: each takes time. */
const maxForText = 64 * 1024

/** Makes one input: sometimes valid, mostly with one or more mutations. */
export const inputFrom = (random: Random, source: Source): Buffer => {
  let bytes = pick(random, source.corpus)
  if (oneIn(random, 8)) return bytes
  for (let turns = 1 + random(oneIn(random, 4) ? 8 : 2); turns > 0; turns -= 1) {
    if (bytes.length > maxForText) break
    bytes = pick(random, mutators)(bytes, random, source)
  }
  return bytes.length > source.longest ? bytes.subarray(0, source.longest) : bytes
}
