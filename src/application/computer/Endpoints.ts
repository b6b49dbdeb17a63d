import { Config, Data, Effect, Option, Redacted } from "effect"
import { parseReference, placeholders, render } from "../../domain/config/placeholders.ts"
import { type Setup, variableOf } from "../../domain/config/setup.ts"
import type { Input, ServerConfig } from "../../domain/protocol/v0_2/config.ts"
import { type Endpoint, readEndpoint } from "../../domain/protocol/v0_2/parameters.ts"
import { type Answer, type InputMissing, Inputs } from "./Inputs.ts"
import type { Secrets } from "./Secrets.ts"

/** A server's configuration cannot be used; trying again does not help. The message holds no value. */
export class NotUsable extends Data.TaggedError("NotUsable")<{ readonly message: string }> {}

/** Values that stand in the configuration for all to see are no secrets, nor is a yes or no. */
const isSecret = (input: Input, { source, value }: Answer): boolean =>
  source !== "default" && input.type !== "pickString" && typeof value !== "boolean"

const fromEnvironment = Effect.fnUntraced(function* (
  name: string,
  fallback: string | undefined,
  secrets: Secrets
) {
  const value = Option.getOrUndefined(yield* Effect.orDie(Config.option(Config.String(name))))
  if (value === undefined && fallback === undefined) {
    return yield* new NotUsable({ message: `the environment variable ${name} is not set` })
  }
  if (value !== undefined) secrets.keep(value)
  return value ?? fallback
})

/** The value of one placeholder, or `undefined` when nobody defined it. */
const valueOf = Effect.fnUntraced(function* (
  text: string,
  server: string,
  { config, variables }: Setup,
  secrets: Secrets
): Effect.fn.Return<unknown, InputMissing | NotUsable, Inputs> {
  const reference = parseReference(text)
  switch (reference._tag) {
    case "Input": {
      const input = config.inputs.find(({ id }) => id === reference.id)
      if (input === undefined) return undefined
      const answer = yield* Inputs.use(({ resolve }) => resolve(input, server))
      if (isSecret(input, answer)) secrets.keep(String(answer.value))
      return answer.value
    }
    case "Environment":
      return yield* fromEnvironment(reference.name, reference.fallback, secrets)
    case "Variable": {
      const value = variableOf(variables, server, reference.name)
      if (!Redacted.isRedacted(value)) return value
      secrets.keep(Redacted.value(value))
      return Redacted.value(value)
    }
  }
})

/**
 * How to reach a server: its parameters with every placeholder filled in. What is filled in is kept secret; what
 * nobody defined stays as it is written, and is warned of.
 */
export const resolveEndpoint = Effect.fnUntraced(function* (
  { name, parameters, type }: ServerConfig,
  setup: Setup,
  secrets: Secrets
): Effect.fn.Return<Endpoint, InputMissing | NotUsable, Inputs> {
  const values = new Map<string, unknown>()
  for (const text of placeholders(parameters)) {
    values.set(text, yield* valueOf(text, name, setup, secrets))
  }
  const { unknown, value } = render(parameters, (text) => values.get(text))
  for (const text of unknown) {
    yield* Effect.logWarning("unknown placeholder left as it is", { server: name, placeholder: text })
  }
  return yield* Effect.mapError(
    Effect.fromResult(readEndpoint(type, value)),
    (message) => new NotUsable({ message })
  )
})
