import { Schema } from "effect"
import { replaceEscapedNames } from "./escapedNames.ts"

/** A JSON object with unchecked members. */
export type JsonObject = { readonly [key: string]: unknown }

/** True for a plain JSON object, not for arrays, null, class instances and binary values. */
export const isJsonObject = (value: unknown): value is JsonObject => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Accepts a JSON object without copying or checking its members. A bundle without schemas leaves the call out. */
export const JsonObject = /* @__PURE__ */ Schema.declare<JsonObject>(isJsonObject, { expected: "an object" })

/** The maximum nesting depth of arrays and objects in a message. */
export const maxJsonDepth = 128

/**
 * Gives the reason why a value cannot be a message body: binary data, members named `__proto__`, or nesting beyond
 * {@link maxJsonDepth}. Gives `undefined` for a valid body. Does not recurse: deep input must not exhaust the stack.
 */
export const checkJsonBody = (value: unknown, maxDepth = maxJsonDepth): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  const open: Array<{ readonly node: object; readonly depth: number }> = [{ node: value, depth: 1 }]
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    const { depth, node } = entry
    if (depth > maxDepth) return `nested deeper than ${maxDepth} levels`
    if (!Array.isArray(node)) {
      if (!isJsonObject(node)) return "binary data where JSON is expected"
      if (Object.hasOwn(node, "__proto__")) return "a member named __proto__"
    }
    for (const member of Object.values(node)) {
      if (typeof member === "object" && member !== null) open.push({ node: member, depth: depth + 1 })
    }
  }
  return undefined
}

/** True when a text has the mark more often than `max` times. Stops counting beyond. */
const hasMoreThan = (max: number, text: string, mark: string): boolean => {
  let found = 0
  for (let at = text.indexOf(mark); at !== -1 && found <= max; at = text.indexOf(mark, at + 1)) found += 1
  return found > max
}

/** {@link checkJsonBody} for the value of a JSON text. Most texts show without a walk that nothing can be wrong. */
export const checkParsedJson = (text: string, value: unknown): string | undefined =>
  text.includes("__proto__") ||
  // An escape can spell such a name.
  text.includes("\\u") ||
  hasMoreThan(maxJsonDepth / 2, text, "{") ||
  hasMoreThan(maxJsonDepth / 2, text, "[")
    ? checkJsonBody(value)
    : undefined

/** The depth of what a message of the office can hold: it adds levels around the parts of another message. */
const maxPartDepth = maxJsonDepth - 8

/** Gives a value without what {@link checkJsonBody} rejects in a message of the office that holds it. */
export const withoutUnsafeParts = (value: unknown, levels = maxPartDepth): unknown => {
  const isKept = (part: unknown): boolean => levels > 1 || typeof part !== "object" || part === null
  if (Array.isArray(value)) return value.filter(isKept).map((item) => withoutUnsafeParts(item, levels - 1))
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).filter(([name, member]) => name !== "__proto__" && isKept(member))
  return Object.fromEntries(members.map(([name, member]) => [name, withoutUnsafeParts(member, levels - 1)]))
}

/** Gives an object without the parts that a message of the office may not hold: it is rejected whole for one of them. */
export const toSafeJson = (value: JsonObject): JsonObject =>
  checkJsonBody(value, maxPartDepth) === undefined ? value : asObject(withoutUnsafeParts(value))

/** True when a value has at most this many members and items, at any depth. Stops counting beyond. */
export const hasAtMostParts = (value: unknown, max: number): boolean => {
  let left = max
  const countParts = (part: unknown): boolean => {
    if (--left < 0) return false
    if (Array.isArray(part)) return part.length <= left && part.every(countParts)
    if (!isJsonObject(part)) return true
    for (const name in part) if (!countParts(part[name])) return false
    return true
  }
  return countParts(value)
}

/** Escapes every character outside printable ASCII as JSON does. */
export const escapeNonAscii = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- the printable ASCII range is what is meant
  text.replace(/[^\x00-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Formats JSON like the examples of the protocol: separators `", "` and `": "`, characters outside printable ASCII escaped. */
export const formatSpacedJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map((item: unknown) => formatSpacedJson(item ?? null)).join(", ")}]`
  if (isJsonObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return `{${members.map(([key, member]) => `${formatSpacedJson(key)}: ${formatSpacedJson(member)}`).join(", ")}}`
  }
  return escapeNonAscii(JSON.stringify(value) ?? "null")
}

/**
 * Formats a value as canonical JSON (RFC 8785): members sorted by the UTF-16 units of their names, no white space. Equal
 * values have equal texts. The depth of messages bounds the recursion.
 */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item)).join(",")}]`
  if (!isJsonObject(value)) return (JSON.stringify(value) as string | undefined) ?? "null"
  const members = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`)
  return `{${members.join(",")}}`
}

/** Parses JSON text like `JSON.parse`, without its confusion of escaped names. Throws a `SyntaxError`. */
export const parseJsonOrThrow = (text: string): unknown => {
  const escaped = replaceEscapedNames(text)
  const value: unknown = JSON.parse(escaped?.text ?? text)
  escaped?.restore(value)
  return value
}

/** Parses JSON text; `undefined` when it is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return parseJsonOrThrow(text)
  } catch {
    return undefined
  }
}

/** Significant digits of a number beyond 10^21 that is no rounded integer, such as 1e300 or 6.022e23. */
const maxExactDigits = 12

/**
 * True for an integer beyond ±(2^53 − 1), which the parser of its text may have rounded. From 10^21 on a number with few
 * digits counts as a fraction's exponent form, and so does the largest number.
 */
const mayBeRounded = (value: number): boolean => {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return false
  const magnitude = Math.abs(value)
  return magnitude < 1e21 || (magnitude < Number.MAX_VALUE && magnitude.toExponential().length > maxExactDigits + 6)
}

/** Explains why a call with such an integer is rejected. */
export const roundedIntegersProblem = `integers beyond ±${Number.MAX_SAFE_INTEGER} lose digits on their way: pass them as text`

const maxPointers = 10

/** The JSON pointer to a member or an item of the value at a pointer. */
export const joinPointer = (pointer: string, name: string | number): string =>
  `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`

/** JSON pointers to the first integers of a value that its parser may have rounded. Usually empty; does not recurse. */
export const findRoundedIntegers = (value: unknown): ReadonlyArray<string> => {
  const pointers: Array<string> = []
  const open: Array<{ readonly node: unknown; readonly pointer: string }> = [{ node: value, pointer: "" }]
  for (let entry = open.pop(); entry !== undefined && pointers.length < maxPointers; entry = open.pop()) {
    const { node, pointer } = entry
    if (typeof node === "number") {
      if (mayBeRounded(node)) pointers.push(pointer)
    } else if (Array.isArray(node) || isJsonObject(node)) {
      for (const [name, member] of Object.entries(node)) {
        const isOpen = typeof member === "object" ? member !== null : typeof member === "number" && mayBeRounded(member)
        if (isOpen) open.push({ node: member, pointer: joinPointer(pointer, name) })
      }
    }
  }
  return pointers
}

export const asString = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
export const stringOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "")
/** The value when it is a JSON object, else an empty one. */
export const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

/** The objects of a list; empty for another value. */
export const objectsIn = (value: unknown) => (Array.isArray(value) ? value.filter(isJsonObject) : [])

export const asStrings = (value: unknown): ReadonlyArray<string> | undefined =>
  Array.isArray(value) && value.every((item): item is string => typeof item === "string") ? value : undefined

/** Parses the JSON text of an object; `undefined` for every other value. */
export const parseJsonObject = (text: unknown): JsonObject | undefined => {
  const value = typeof text === "string" ? parseJson(text) : undefined
  return isJsonObject(value) ? value : undefined
}
