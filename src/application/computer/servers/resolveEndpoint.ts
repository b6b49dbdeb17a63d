import { Data, Effect, Redacted } from "effect"
import { parsePlaceholder, findPlaceholders, renderPlaceholders } from "../../../domain/config/placeholders.ts"
import { type Setup, findVariable } from "../../../domain/config/Setup.ts"
import type { Input, ServerConfig } from "../../../domain/config/computerConfig.ts"
import { decodeEndpoint } from "../../../domain/config/endpointParameters.ts"
import { type ResolvedInput, Inputs, readEnvironment } from "../inputs/Inputs.ts"
import type { Secrets } from "../inputs/Secrets.ts"

/** A server's configuration is unusable. The message contains no value, since values may be secret. */
class ConfigUnusable extends Data.TaggedError("ConfigUnusable")<{ readonly message: string }> {}

/** Defaults and options stand in the configuration, hence are no secrets; neither are booleans. */
const isSecretInput = (input: Input, { source, value }: ResolvedInput): boolean =>
  source !== "default" && input.type !== "pickString" && typeof value !== "boolean"

/** Resolves one placeholder; gives `undefined` when it is not defined. */
const resolvePlaceholder = Effect.fnUntraced(function* (
  text: string,
  server: ServerConfig,
  { config, variables }: Setup,
  secrets: Secrets
) {
  const reference = parsePlaceholder(text)
  switch (reference._tag) {
    case "Input": {
      const input = config.inputs.find(({ id }) => id === reference.id)
      if (input === undefined) return undefined
      const resolved = yield* Inputs.use(({ resolve }) => resolve(input, server))
      if (isSecretInput(input, resolved)) secrets.add(String(resolved.value))
      return resolved.value
    }
    case "Environment": {
      const { fallback, name } = reference
      const value = yield* readEnvironment(name)
      if (value !== undefined) secrets.add(value)
      // As in a shell, the fallback also replaces the empty text.
      const resolved = value === "" ? (fallback ?? value) : (value ?? fallback)
      return resolved ?? (yield* new ConfigUnusable({ message: `the environment variable ${name} is not set` }))
    }
    case "Variable": {
      const value = findVariable(variables, server.name, reference.name)
      // Hosts of other configurations set none; its text instead of a folder would start the server with a wrong path.
      if (value === undefined && reference.name === "userHome") {
        return yield* new ConfigUnusable({ message: "the home folder of ${userHome} is unknown: set HOME" })
      }
      if (!Redacted.isRedacted(value)) return value
      secrets.add(Redacted.value(value))
      return Redacted.value(value)
    }
  }
})

/** Resolves the placeholders of a server. Values become secrets; undefined ones stay verbatim and are logged. */
export const resolveEndpoint = Effect.fnUntraced(function* (server: ServerConfig, setup: Setup, secrets: Secrets) {
  const { name, parameters, type } = server
  const values = new Map<string, unknown>()
  for (const text of findPlaceholders(parameters)) {
    values.set(text, yield* resolvePlaceholder(text, server, setup, secrets))
  }
  const { unresolved, value } = renderPlaceholders(parameters, (text) => values.get(text))
  for (const text of unresolved) {
    yield* Effect.logWarning("unknown placeholder", { server: name, placeholder: text })
  }
  return yield* Effect.mapError(
    Effect.fromResult(decodeEndpoint(type, value)),
    (message) => new ConfigUnusable({ message })
  )
})
