import { Effect, Schema } from "effect"

/** Fails whatever one does with it. */
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

const getters = (): unknown => {
  const object = {}
  for (const name of [
    "name",
    "message",
    "code",
    "_tag",
    "endpoint",
    "params",
    "content",
    "type",
    "issues",
    "callTool"
  ]) {
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

/** Things that code can give and no JSON can, by the words that stand for them in inputs. */
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
  // No promise of the platform, since the one that nobody looks at would be nobody's fault but ours.
  "!rejects": () => ({
    // oxlint-disable-next-line unicorn/no-thenable -- what looks like a promise is meant
    then: (_: unknown, reject: (reason: unknown) => void) => reject(getters())
  }),
  "!thenable": () => ({
    // oxlint-disable-next-line unicorn/no-thenable -- what looks like a promise is meant
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

/** Words for what no JSON can hold. */
export const strangeWords: ReadonlyArray<string> = Object.keys(strange)

/** Deeper values stay as they are. */
const mostDepth = 400

/** A value of JSON with what its words stand for in their places. */
export const revive = (value: unknown, depth = 0): unknown => {
  if (typeof value === "string") return Object.hasOwn(strange, value) ? strange[value]?.() : value
  if (typeof value !== "object" || value === null || depth > mostDepth) return value
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
