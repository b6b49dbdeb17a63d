import { Effect, Schema } from "effect"

/** Throws on every operation. */
const hostile = new Proxy(
  {},
  Object.fromEntries(
    ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor"].map((trap) => [
      trap,
      () => {
        throw new Error(`hostile ${trap}`)
      }
    ])
  )
)

/** Members that the code under test reads. */
const readNames = ["name", "message", "code", "_tag", "endpoint", "params", "content", "type", "issues", "callTool"]

const getters = (): unknown => {
  const object = {}
  for (const name of readNames) {
    Object.defineProperty(object, name, {
      enumerable: true,
      get: () => {
        throw new Error(`hostile ${name}`)
      }
    })
  }
  return object
}

const circular = (): unknown => {
  const object: Record<string, unknown> = { name: "a", type: "text" }
  object["self"] = object
  return object
}

/** Values outside JSON, by their placeholders in inputs. */
const strange: { readonly [word: string]: () => unknown } = {
  "!getters": getters,
  "!proxy": () => hostile,
  "!circular": circular,
  "!bigint": () => 10n,
  "!symbol": () => Symbol("s"),
  "!function": () => () => 1,
  "!undefined": () => undefined,
  "!nan": () => Number.NaN,
  "!date": () => new Date(0),
  "!baddate": () => new Date(Number.NaN),
  "!map": () => new Map([["a", 1]]),
  "!bytes": () => new Uint8Array(4),
  "!empty": () => Object.create(null),
  "!tojson": () => ({
    toJSON: () => {
      throw Object.create(null)
    }
  }),
  "!error": () => new TypeError("an error"),
  "!promise": () => Promise.resolve([{ name: "pack" }]),
  // Not a native promise: an unhandled native rejection would be a fault of the test.
  "!rejects": () => ({
    // oxlint-disable-next-line unicorn/no-thenable -- the test needs a thenable
    then: (_: unknown, reject: (reason: unknown) => void) => reject(getters())
  }),
  "!thenable": () => ({
    // oxlint-disable-next-line unicorn/no-thenable -- the test needs a thenable
    then: () => {
      throw new Error("no promise")
    }
  }),
  "!effect": () => Effect.succeed([{ name: "pack" }]),
  "!fails": () => Effect.fail(hostile),
  "!dies": () => Effect.die(Object.create(null)),
  "!schema": () => Schema.Struct({ a: Schema.Finite }),
  "!standard": () => ({ "~standard": { version: 1, vendor: "v", validate: () => ({ issues: [{}, 1] }) } }),
  "!badstandard": () => ({
    "~standard": {
      version: 1,
      vendor: Symbol("v"),
      validate: () => hostile,
      jsonSchema: { input: () => 3 }
    }
  })
}

/** Placeholders for values outside JSON. */
export const strangeWords: ReadonlyArray<string> = Object.keys(strange)

/** Maximum depth of replacements. */
const maxDepth = 400

/** Replaces the placeholders in a JSON value. */
export const revive = (value: unknown, depth = 0): unknown => {
  if (typeof value === "string") return Object.hasOwn(strange, value) ? strange[value]?.() : value
  if (typeof value !== "object" || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => revive(item, depth + 1))
  const object = {}
  for (const [name, member] of Object.entries(value)) {
    Object.defineProperty(object, name, {
      value: revive(member, depth + 1),
      enumerable: true,
      configurable: true,
      writable: true
    })
  }
  return object
}
