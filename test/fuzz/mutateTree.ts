import { isJsonObject } from "../../src/domain/json.ts"
import { oneIn, pick, type Random } from "./random.ts"

type Container = Array<unknown> | Record<string, unknown>

/** Names with and without a special meaning. */
const names = [
  ["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty"],
  ["length", "then", "toJSON"],
  ["", "0", "-1"],
  ["\u0000", "\ud800", "a.b", "x".repeat(300)]
].flat()

const nested = (depth: number, value: unknown): unknown => {
  let node = value
  for (let level = 0; level < depth; level += 1) node = level % 2 === 0 ? [node] : { a: node }
  return node
}

/** Large values, which take time. */
const largeValues: ReadonlyArray<() => unknown> = [
  () => "x".repeat(9000),
  () => Array.from({ length: 2000 }, (_, index) => index),
  () => Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`k${index}`, index])),
  () => nested(127, 1),
  () => nested(200, 1)
]

/** One value in this number is large. */
const seldom = 25

/** Unexpected values. */
const rowsOfValues: ReadonlyArray<ReadonlyArray<unknown>> = [
  [null, true, false],
  [0, -1, 1.5, Number.MAX_SAFE_INTEGER + 2, 1e308],
  ["", " ", "__proto__", "constructor", "toString", "\ud800", "\u0000\u001e\u2028"],
  // oxlint-disable-next-line unicorn/no-thenable -- the test needs a thenable
  [[], {}, { toString: 1 }, { toString: null, valueOf: "x" }, { then: 1 }, [[]]]
]
const smallValues = rowsOfValues.flat()

const someValue = (random: Random): unknown =>
  oneIn(random, seldom) ? pick(random, largeValues)() : pick(random, smallValues)

/** Sets a member as JSON.parse does, even `__proto__`. */
const put = (object: Record<string, unknown>, name: string, value: unknown): void => {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

const isContainer = (value: unknown): value is Container => Array.isArray(value) || isJsonObject(value)

/** A random container in a tree. */
const someContainer = (root: Container, random: Random): Container => {
  let found = root
  for (;;) {
    const inner = Object.values(found).filter(isContainer)
    if (inner.length === 0 || oneIn(random, 3)) return found
    found = pick(random, inner)
  }
}

const changeArray = (array: Array<unknown>, random: Random): void => {
  const at = random(array.length + 1)
  switch (random(5)) {
    case 0:
      array.splice(at, 0, someValue(random))
      return
    case 1:
      array.splice(at, 1)
      return
    case 2:
      array.splice(at, 0, ...array.slice(0, 20))
      return
    case 3:
      array.reverse()
      return
    default:
      array[Math.min(at, array.length)] = someValue(random)
  }
}

const changeObject = (object: Record<string, unknown>, random: Random): void => {
  const own = Object.keys(object)
  const name = own.length === 0 ? "a" : pick(random, own)
  switch (random(6)) {
    case 0:
      delete object[name]
      return
    case 1:
      put(object, pick(random, names), someValue(random))
      return
    case 2:
      put(object, pick(random, names), object[name])
      return
    case 3: {
      const other = own.length === 0 ? name : pick(random, own)
      const value = object[name]
      put(object, name, object[other])
      put(object, other, value)
      return
    }
    case 4:
      put(object, name, nested(1 + random(oneIn(random, 8) ? 130 : 4), object[name]))
      return
    default:
      put(object, name, someValue(random))
  }
}

/** Maximum length of texts to search for JSON. */
const maxText = 32 * 1024

/** Mutates the JSON at the end of a text; a text without JSON stays unchanged. */
export const mutateTree = (bytes: Buffer, random: Random): Buffer => {
  if (bytes.length > maxText) return bytes
  const text = bytes.toString("utf8")
  const at = text.search(/[[{]/)
  if (at < 0) return bytes
  try {
    const root: unknown = JSON.parse(text.slice(at))
    if (!isContainer(root)) return bytes
    const container = someContainer(root, random)
    if (Array.isArray(container)) changeArray(container, random)
    else changeObject(container, random)
    return Buffer.from(text.slice(0, at) + JSON.stringify(root))
  } catch {
    // Invalid JSON, or too deep to serialize.
    return bytes
  }
}
