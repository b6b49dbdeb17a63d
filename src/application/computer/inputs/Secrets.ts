import { Cause, Effect, Logger } from "effect"
import { isShallowEqual } from "../../../domain/objects.ts"
import { maxLogMembers, truncateLogText } from "../../shared/logLimits.ts"

/** Holds secret values and replaces them in texts. */
export type Secrets = ReturnType<typeof makeSecrets>

const redactedMark = "<redacted>"

/** Shorter values are not redacted: they occur in ordinary words. */
const minSecretLength = 4

/** The forms of a value inside a text: verbatim, in JSON, in a URL. */
const encodings = (value: string): ReadonlyArray<string> => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value.toWellFormed())
]

/** A part of a text, from `start` up to `end`. */
type Span = readonly [start: number, end: number]

/** The occurrences of a secret, also overlapping ones, and its start at the end of the text. */
function* occurrences(text: string, secret: string): Generator<Span, void> {
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) yield [at, at + secret.length]
  const start = secret.slice(0, minSecretLength)
  for (let at = text.indexOf(start, text.length - secret.length); at >= 0; at = text.indexOf(start, at + 1)) {
    if (secret.startsWith(text.slice(at))) yield [at, text.length]
  }
}

/** Replaces spans in a text. Overlapping ones are replaced as a whole, so nothing of any of them remains. */
const replaceSpans = (text: string, spans: ReadonlyArray<Span>): string => {
  let result = ""
  let position = 0
  for (const [start, end] of spans.toSorted(([one], [other]) => one - other)) {
    if (start >= position) result += `${text.slice(position, start)}${redactedMark}`
    position = Math.max(position, end)
  }
  return result + text.slice(position)
}

export const makeSecrets = () => {
  const secrets = new Set<string>()
  return {
    add: (given: string): void => {
      // Servers often trim values before they use them.
      const value = given.trim()
      if (value.length < minSecretLength) return
      for (const encoded of encodings(value)) secrets.add(encoded)
    },
    /** Replaces all secrets, also overlapping ones and one that is cut at the end of the text. */
    redact: (text: string): string =>
      replaceSpans(
        text,
        [...secrets].flatMap((secret) => [...occurrences(text, secret)])
      )
  }
}

/** Maximum depth to which a log message is redacted; deeper values are replaced. */
const maxLogDepth = 8
const tooDeepMark = "<nested too deeply>"

const standardErrorKeys = ["message", "stack"]

/** Copies a value with redacted strings. A value without secrets is returned itself. */
const redactValue = (root: unknown, secrets: Secrets): unknown => {
  const redacted = new Map<object, unknown>()
  const redact = (text: string): string => truncateLogText(text, secrets.redact)

  const redactError = (error: Error, depth: number): Error => {
    const stack = error.stack ?? ""
    const keys = Object.getOwnPropertyNames(error).filter((key) => !standardErrorKeys.includes(key))
    const members = keys.map((key): unknown => Reflect.get(error, key))
    const [message, trace] = [redact(error.message), redact(stack)]
    const safe = members.map((member) => walk(member, depth))
    if (isShallowEqual([message, trace, ...safe], [error.message, stack, ...members])) return error
    const copy = new Error(message)
    copy.name = error.name
    copy.stack = trace
    for (const [at, key] of keys.entries()) {
      Object.defineProperty(copy, key, { value: safe[at], enumerable: key !== "cause" })
    }
    return copy
  }
  const redactObject = (value: object, depth: number): unknown => {
    if (value instanceof Error) return redactError(value, depth)
    if ("toJSON" in value && typeof value.toJSON === "function") {
      const shown: unknown = value.toJSON()
      const safe = walk(shown, depth)
      return safe === shown ? value : safe
    }
    if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
      const items: ReadonlyArray<unknown> = value instanceof Map ? [...value].flat() : [...value]
      const safe = items.slice(0, maxLogMembers).map((item) => walk(item, depth))
      return isShallowEqual(safe, items) ? value : safe
    }
    const entries = Object.entries(value)
    const safe = entries.slice(0, maxLogMembers).map(([key, member]) => [redact(key), walk(member, depth)] as const)
    return isShallowEqual(safe.flat(), entries.flat()) ? value : Object.fromEntries(safe)
  }
  const walk = (value: unknown, remainingDepth: number): unknown => {
    if (typeof value === "string") return redact(value)
    if (typeof value !== "object" || value === null) return value
    if (remainingDepth === 0) return tooDeepMark
    const previous = redacted.get(value)
    if (previous !== undefined) return previous
    // Ends circular references: returning the value itself would leak the secret.
    redacted.set(value, tooDeepMark)
    const safe = redactObject(value, remainingDepth - 1)
    redacted.set(value, safe)
    return safe
  }
  return walk(root, maxLogDepth)
}

const redactCause = (cause: Cause.Cause<unknown>, secrets: Secrets): Cause.Cause<unknown> => {
  if (cause.reasons.length === 0) return cause
  const text = Cause.pretty(cause)
  const safe = truncateLogText(text, secrets.redact)
  const isSafe = cause.reasons.every((reason) => {
    const payload: unknown = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) && reason.defect
    return redactValue(payload, secrets) === payload
  })
  return safe === text && isSafe ? cause : Cause.die(safe)
}

/** Redacts secrets in all log messages of an effect and its fibers. */
export const redactLogs =
  (secrets: Secrets) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Logger.CurrentLoggers, (loggers) => {
      const redacting = [...loggers].map((logger) =>
        Logger.make<unknown, unknown>((options) =>
          logger.log({
            ...options,
            message: redactValue(options.message, secrets),
            cause: redactCause(options.cause, secrets)
          })
        )
      )
      return Effect.provideService(effect, Logger.CurrentLoggers, new Set(redacting))
    })
