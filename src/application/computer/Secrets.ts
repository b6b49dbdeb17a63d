import { Cause, Effect, Logger } from "effect"

/** Keeps values that nobody may see, and takes them out of whatever is about to be said. */
export interface Secrets {
  /** From now on this value is concealed. */
  readonly keep: (value: string) => void
  /** The text with every value that is kept replaced. */
  readonly conceal: (text: string) => string
}

/** What stands where a secret was. */
const veil = "<redacted>"

/** Shorter values are no secret, and to conceal them would make ordinary words unreadable. */
const shortest = 4

/** How deep a log message is searched. */
const depth = 8

/** What stands for what lies deeper. */
const tooDeep = "<nested too deeply>"

/** The ways in which a value may be spelled inside a text: as it is, as JSON, as part of a URL. */
const spellings = (value: string): ReadonlyArray<string> => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value.toWellFormed())
]

/** Secrets of one Computer. */
export const makeSecrets = (): Secrets => {
  let kept: ReadonlyArray<string> = []
  return {
    keep: (given) => {
      // What is sent is often trimmed on the way.
      const value = given.trim()
      if (value.length < shortest) return
      // The longest first: one value may hold another.
      kept = [...new Set([...kept, ...spellings(value)])].sort((one, other) => other.length - one.length)
    },
    conceal: (text) => kept.reduce((safe, secret) => safe.replaceAll(secret, veil), text)
  }
}

/** Members of an error that a copy of it needs no definition for. */
const ownWords = ["message", "name", "stack"]

/** Conceals a value wherever it may hold text; what holds no secret stays the very same. */
const concealIn = (root: unknown, { conceal }: Secrets): unknown => {
  const known = new Map<object, unknown>()

  const concealError = (error: Error, left: number): Error => {
    const stack = error.stack ?? ""
    const [message, trace] = [conceal(error.message), conceal(stack)]
    const members = Object.getOwnPropertyNames(error)
      .filter((key) => !ownWords.includes(key))
      .map((key): readonly [string, unknown, unknown] => {
        const member: unknown = Reflect.get(error, key)
        return [key, member, walk(member, left - 1)]
      })
    const isSafe =
      message === error.message && trace === stack && members.every(([, member, safe]) => member === safe)
    if (isSafe) return error
    const copy = new Error(message)
    copy.name = error.name
    copy.stack = trace
    for (const [key, , value] of members)
      Object.defineProperty(copy, key, { value, enumerable: key !== "cause" })
    return copy
  }
  const concealObject = (value: object, left: number): unknown => {
    if (value instanceof Error) return concealError(value, left)
    if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
      const items: ReadonlyArray<unknown> = value instanceof Map ? [...value].flat() : [...value]
      const safe = items.map((item) => walk(item, left - 1))
      return safe.every((item, index) => item === items[index]) ? value : safe
    }
    const entries = Object.entries(value)
    const safe = entries.map(([key, member]) => [conceal(key), walk(member, left - 1)] as const)
    return safe.every(([key, member], index) => key === entries[index]?.[0] && member === entries[index]?.[1])
      ? value
      : Object.fromEntries(safe)
  }
  const walk = (value: unknown, left: number): unknown => {
    if (typeof value === "string") return conceal(value)
    if (typeof value !== "object" || value === null) return value
    if (left === 0) return tooDeep
    const before = known.get(value)
    if (before !== undefined) return before
    // A value inside itself would take the secret along.
    known.set(value, tooDeep)
    const safe = concealObject(value, left)
    known.set(value, safe)
    return safe
  }
  return walk(root, depth)
}

const concealCause = (cause: Cause.Cause<unknown>, secrets: Secrets): Cause.Cause<unknown> => {
  if (cause.reasons.length === 0) return cause
  const text = Cause.pretty(cause)
  const safe = secrets.conceal(text)
  const isSafe = cause.reasons.every((reason) => {
    const held = Cause.isFailReason(reason)
      ? reason.error
      : Cause.isDieReason(reason)
        ? reason.defect
        : undefined
    return concealIn(held, secrets) === held
  })
  return safe === text && isSafe ? cause : Cause.die(safe)
}

/** Runs an effect, and everything it starts, with loggers that never see a secret. */
export const concealLogs =
  (secrets: Secrets) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Logger.CurrentLoggers, (loggers) =>
      Effect.provideService(
        effect,
        Logger.CurrentLoggers,
        new Set(
          [...loggers].map((logger) =>
            Logger.make<unknown, unknown>((options) =>
              logger.log({
                ...options,
                message: concealIn(options.message, secrets),
                cause: concealCause(options.cause, secrets)
              })
            )
          )
        )
      )
    )
