import { Effect, Redacted } from "effect"
import { CliError } from "effect/cli"
import { asObject } from "../../../domain/json.ts"
import { readTokenFile } from "../../../adapters/credentials/readTokenFile.ts"
import { expectedUrl, isUrl } from "../../config/webAddress.ts"
import type { ComputerConfig } from "../../../domain/config/computerConfig.ts"

const invalidFlag = (message: string) => Effect.fail(new CliError.UserError({ cause: message, userMessage: message }))

/**
 * Resolves the value of a flag: `@FILE` is the content of a file, `@@…` a literal value that begins with `@`, everything
 * else the literal value.
 */
export const resolveSecret =
  (flag: string, isPublic: (value: string) => boolean = () => false) =>
  (given: Redacted.Redacted): Effect.Effect<Redacted.Redacted, CliError.UserError> => {
    const text = Redacted.value(given)
    if (text.startsWith("@") && !text.startsWith("@@")) {
      return readTokenFile(text.slice(1), "the file").pipe(
        Effect.map((value) => Redacted.make(value)),
        Effect.catch(({ message }) => invalidFlag(`${flag}: ${message}; a literal value is written with @@`))
      )
    }
    const value = text.replace(/^@@/, "@")
    // The label tells that other processes can read the secret in the arguments of this one.
    return Effect.succeed(Redacted.make(value, isPublic(value) ? undefined : { label: flag }))
  }

/** Resolves values like `KEY=@FILE`. The message of an error does not repeat a value. */
export const resolveSecretsByKey = (flag: string) =>
  Effect.fnUntraced(function* (values: ReadonlyArray<string>) {
    const secrets: { [key: string]: Redacted.Redacted } = {}
    for (const text of values) {
      const [, key, value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? []
      if (key === undefined) return yield* invalidFlag(`${flag}: expected KEY=@FILE or KEY=VALUE`)
      secrets[key] = yield* resolveSecret(`${flag} ${key}`)(Redacted.make(value))
    }
    return secrets
  })

/** True for a URL that holds a user or a password. */
const hasCredentials = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && `${url.username}${url.password}` !== ""
}

/** Accepts a URL of one of the schemes without user and password. The messages do not repeat it. */
export const checkUrl =
  (flag: string, schemes?: ReadonlyArray<string>) =>
  (text: string): Effect.Effect<string, CliError.UserError> => {
    if (hasCredentials(text)) return invalidFlag(`${flag}: the URL must hold no user and no password`)
    return isUrl(text, schemes) ? Effect.succeed(text) : invalidFlag(`${flag}: expected ${expectedUrl}`)
  }

/** True for a URL without a password, also for text that is no URL. */
export const hasNoPassword = (text: string): boolean => !hasCredentials(text)

/** Warns once of secrets among these options that were given literally. */
export const warnOfLiteralSecrets = (options: unknown): Effect.Effect<void> => {
  const flags = Object.values(asObject(options)).flatMap((value) =>
    Redacted.isRedacted(value) && value.label !== undefined ? [value.label] : []
  )
  return flags.length === 0
    ? Effect.void
    : Effect.logWarning("secret on the command line, where other processes can read it: give @FILE or a variable", {
        flags
      })
}

/** Warns of literal values of inputs. The options of a `pickString` stand in the configuration and are no secrets. */
export const warnOfLiteralInputs = ({ inputs }: ComputerConfig, given: { readonly [id: string]: Redacted.Redacted }) =>
  warnOfLiteralSecrets(
    Object.fromEntries(inputs.flatMap(({ id, type }) => (type === "pickString" ? [] : [[id, given[id]]])))
  )
