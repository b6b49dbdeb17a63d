import { Config, Data, Effect, Option, Redacted } from "effect"
import {
  parsePlaceholder,
  findPlaceholders,
  renderPlaceholders
} from "../../../domain/config/placeholders.ts"
import { type Setup, findVariable } from "../../../domain/config/Setup.ts"
import type { Input, ServerConfig } from "../../../domain/config/computerConfig.ts"
import { type Endpoint, decodeEndpoint } from "../../../domain/config/endpointParameters.ts"
import { type ResolvedInput, type InputMissing, Inputs } from "../inputs/Inputs.ts"
import type { Secrets } from "../inputs/Secrets.ts"

/** A server's configuration cannot be used; trying again does not help. The message holds no value. */
export class ConfigUnusable extends Data.TaggedError("NotUsable")<{ readonly message: string }> {}

/** Values that stand in the configuration for all to see are no secrets, nor is a yes or no. */
const isSecretInput = (input: Input, { source, value }: ResolvedInput): boolean =>
  source !== "default" && input.type !== "pickString" && typeof value !== "boolean"

const readEnvironment = Effect.fnUntraced(function* (
  name: string,
  fallback: string | undefined,
  secrets: Secrets
) {
  const value = Option.getOrUndefined(yield* Effect.orDie(Config.option(Config.String(name))))
  if (value === undefined && fallback === undefined) {
    return yield* new ConfigUnusable({ message: `the environment variable ${name} is not set` })
  }
  if (value !== undefined) secrets.add(value)
  return value ?? fallback
})

/** The value of one placeholder, or `undefined` when nobody defined it. */
const resolvePlaceholder = Effect.fnUntraced(function* (
  text: string,
  server: string,
  { config, variables }: Setup,
  secrets: Secrets
): Effect.fn.Return<unknown, InputMissing | ConfigUnusable, Inputs> {
  const reference = parsePlaceholder(text)
  switch (reference._tag) {
    case "Input": {
      const input = config.inputs.find(({ id }) => id === reference.id)
      if (input === undefined) return undefined
      const resolved = yield* Inputs.use(({ resolve }) => resolve(input, server))
      if (isSecretInput(input, resolved)) secrets.add(String(resolved.value))
      return resolved.value
    }
    case "Environment":
      return yield* readEnvironment(reference.name, reference.fallback, secrets)
    case "Variable": {
      const value = findVariable(variables, server, reference.name)
      if (!Redacted.isRedacted(value)) return value
      secrets.add(Redacted.value(value))
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
): Effect.fn.Return<Endpoint, InputMissing | ConfigUnusable, Inputs> {
  const values = new Map<string, unknown>()
  for (const text of findPlaceholders(parameters)) {
    values.set(text, yield* resolvePlaceholder(text, name, setup, secrets))
  }
  const { unresolved, value } = renderPlaceholders(parameters, (text) => values.get(text))
  for (const text of unresolved) {
    yield* Effect.logWarning("unknown placeholder left as it is", { server: name, placeholder: text })
  }
  return yield* Effect.mapError(
    Effect.fromResult(decodeEndpoint(type, value)),
    (message) => new ConfigUnusable({ message })
  )
})
