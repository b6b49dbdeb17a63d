import { Cause, Effect, Logger } from "effect"

/** Keeps values that nobody may see, and takes them out of whatever is about to be said. */
export interface Secrets {
  /** From now on this value is concealed. */
  readonly add: (value: string) => void
  /** The text with every value that is kept replaced. */
  readonly redact: (text: string) => string
}

/** What stands where a secret was. */
const redactedMark = "<redacted>"

/** Shorter values are no secret, and to conceal them would make ordinary words unreadable. */
const minSecretLength = 4

/** How deep a log message is searched. */
const maxLogDepth = 8

/** What stands for what lies deeper. */
const tooDeepMark = "<nested too deeply>"

/** The ways in which a value may be spelled inside a text: as it is, as JSON, as part of a URL. */
const encodings = (value: string): ReadonlyArray<string> => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value.toWellFormed())
]

/** Secrets of one Computer. */
export const makeSecrets = (): Secrets => {
  let secrets: ReadonlyArray<string> = []
  return {
    add: (given) => {
      // What is sent is often trimmed on the way.
      const value = given.trim()
      if (value.length < minSecretLength) return
      // The longest first: one value may hold another.
      secrets = [...new Set([...secrets, ...encodings(value)])].sort(
        (one, other) => other.length - one.length
      )
    },
    redact: (text) => secrets.reduce((safe, secret) => safe.replaceAll(secret, redactedMark), text)
  }
}

/** Members of an error that a copy of it needs no definition for. */
const standardErrorKeys = ["message", "name", "stack"]

/** Conceals a value wherever it may hold text; what holds no secret stays the very same. */
const redactValue = (root: unknown, { redact }: Secrets): unknown => {
  const redacted = new Map<object, unknown>()

  const redactError = (error: Error, remainingDepth: number): Error => {
    const stack = error.stack ?? ""
    const [message, trace] = [redact(error.message), redact(stack)]
    const members = Object.getOwnPropertyNames(error)
      .filter((key) => !standardErrorKeys.includes(key))
      .map((key): readonly [string, unknown, unknown] => {
        const member: unknown = Reflect.get(error, key)
        return [key, member, walk(member, remainingDepth - 1)]
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
  const redactObject = (value: object, remainingDepth: number): unknown => {
    if (value instanceof Error) return redactError(value, remainingDepth)
    if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
      const items: ReadonlyArray<unknown> = value instanceof Map ? [...value].flat() : [...value]
      const safe = items.map((item) => walk(item, remainingDepth - 1))
      return safe.every((item, index) => item === items[index]) ? value : safe
    }
    const entries = Object.entries(value)
    const safe = entries.map(([key, member]) => [redact(key), walk(member, remainingDepth - 1)] as const)
    return safe.every(([key, member], index) => key === entries[index]?.[0] && member === entries[index]?.[1])
      ? value
      : Object.fromEntries(safe)
  }
  const walk = (value: unknown, remainingDepth: number): unknown => {
    if (typeof value === "string") return redact(value)
    if (typeof value !== "object" || value === null) return value
    if (remainingDepth === 0) return tooDeepMark
    const previous = redacted.get(value)
    if (previous !== undefined) return previous
    // A value inside itself would take the secret along.
    redacted.set(value, tooDeepMark)
    const safe = redactObject(value, remainingDepth)
    redacted.set(value, safe)
    return safe
  }
  return walk(root, maxLogDepth)
}

const redactCause = (cause: Cause.Cause<unknown>, secrets: Secrets): Cause.Cause<unknown> => {
  if (cause.reasons.length === 0) return cause
  const text = Cause.pretty(cause)
  const safe = secrets.redact(text)
  const isSafe = cause.reasons.every((reason) => {
    const payload = Cause.isFailReason(reason)
      ? reason.error
      : Cause.isDieReason(reason)
        ? reason.defect
        : undefined
    return redactValue(payload, secrets) === payload
  })
  return safe === text && isSafe ? cause : Cause.die(safe)
}

/** Runs an effect, and everything it starts, with loggers that never see a secret. */
export const redactLogs =
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
                message: redactValue(options.message, secrets),
                cause: redactCause(options.cause, secrets)
              })
            )
          )
        )
      )
    )
