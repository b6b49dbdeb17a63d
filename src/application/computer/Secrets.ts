import { Cause, Effect, Logger } from "effect"
import { isJsonObject } from "../../domain/json.ts"

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
    keep: (value) => {
      if (value.length < shortest) return
      // The longest first: one value may hold another.
      kept = [...new Set([...kept, ...spellings(value)])].sort((one, other) => other.length - one.length)
    },
    conceal: (text) => kept.reduce((safe, secret) => safe.replaceAll(secret, veil), text)
  }
}

const concealError = (error: Error, { conceal }: Secrets): Error => {
  const message = conceal(error.message)
  const stack = conceal(error.stack ?? "")
  if (message === error.message && stack === (error.stack ?? "")) return error
  const safe = new Error(message)
  safe.name = error.name
  safe.stack = stack
  return safe
}

const concealIn = (value: unknown, secrets: Secrets, left = depth): unknown => {
  if (typeof value === "string") return secrets.conceal(value)
  if (value instanceof Error) return concealError(value, secrets)
  if (left === 0) return value
  if (Array.isArray(value)) return value.map((item) => concealIn(item, secrets, left - 1))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, concealIn(member, secrets, left - 1)])
  )
}

const concealCause = (cause: Cause.Cause<unknown>, { conceal }: Secrets): Cause.Cause<unknown> => {
  const text = cause.reasons.length === 0 ? "" : Cause.pretty(cause)
  const safe = conceal(text)
  return safe === text ? cause : Cause.die(safe)
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
