import { Config, ConfigProvider, Context, Data, Effect, Fiber, FiberMap, Layer, Option, Redacted, Result } from "effect"
import {
  validateInputValue,
  defaultInputValue,
  inputEnvironmentNames,
  type InputUser,
  type InputValue,
  inputVariableName
} from "../../../domain/config/inputValues.ts"
import type { Input, ServerConfig } from "../../../domain/config/computerConfig.ts"
import { decodeEndpoint } from "../../../domain/config/endpointParameters.ts"
import { findPlaceholders, parsePlaceholder, renderPlaceholders } from "../../../domain/config/placeholders.ts"
import { findVariable, type Setup } from "../../../domain/config/Setup.ts"
import { Endpoints } from "../../ports/McpSession.ts"

/** An input has no value. The message names the ways to set it and contains no value. */
export class InputMissing extends Data.TaggedError("InputMissing")<{ readonly id: string; readonly message: string }> {}

export interface ResolvedInput {
  readonly value: InputValue
  readonly source: "explicit" | "environment" | "prompt" | "command" | "default"
}

type CommandInput = Extract<Input, { readonly type: "command" }>
type PromptInput = Exclude<Input, CommandInput>

/** Sources of values besides the environment and the defaults. */
export interface InputSources {
  /** Values by input id, from a command line or a host program; they override all other sources. */
  readonly values?: { readonly [id: string]: InputValue }
  /** Prompts the user; `none` means that the user declined. */
  readonly prompt?: (input: PromptInput) => Effect.Effect<Option.Option<string>>
  /** Runs the command of an input and gives its output. */
  readonly runCommand?: (input: CommandInput) => Effect.Effect<string, { readonly message: string }>
}

interface InputsShape {
  /** Resolves an input for a server. Prompts at most once per input (spec §8.5). */
  readonly resolve: (input: Input, server: InputUser | undefined) => Effect.Effect<ResolvedInput, InputMissing>
  /** Resolves an input without prompting and without running commands. */
  readonly peek: (
    input: Input,
    server: InputUser | undefined
  ) => Effect.Effect<Option.Option<ResolvedInput>, InputMissing>
  /** Sets the value of an input; running servers keep the previous value. */
  readonly set: (id: string, value: InputValue) => Effect.Effect<void>
  readonly clear: (id: string) => Effect.Effect<void>
}

/** Begins with the id. Includes the definition: a changed input is resolved again. */
const cacheKey = (input: Input, server?: InputUser): string => JSON.stringify([input.id, input, server?.name])

const missing = ({ id }: Input, message: string) => new InputMissing({ id, message })

const acceptAs = (input: Input, value: InputValue, source: ResolvedInput["source"], where: string) =>
  Effect.mapBoth(Effect.fromResult(validateInputValue(input, value)), {
    onSuccess: (accepted): ResolvedInput => ({ value: accepted, source }),
    onFailure: (problem) => missing(input, `${where} is ${problem}`)
  })

const readVariable = (name: string) => Effect.orDie(Config.option(Config.String(name)))

/** Reads an environment variable; an empty one has the empty text as its value. */
const readEnvironment = Effect.fnUntraced(function* (name: string) {
  const value = yield* readVariable(name)
  if (Option.isSome(value)) return value.value
  // By default, a provider takes an empty variable as missing.
  const withEmptyValues = ConfigProvider.fromEnv({ preserveEmptyStrings: true })
  const found = yield* Effect.provideService(readVariable(name), ConfigProvider.ConfigProvider, withEmptyValues)
  return Option.getOrUndefined(Option.filter(found, (text) => text === ""))
})

const fromEnvironment = Effect.fnUntraced(function* (input: Input, server: InputUser | undefined) {
  for (const name of inputEnvironmentNames(input.id, server)) {
    const value = yield* readEnvironment(name)
    // An empty variable is a value of a prompt, and of a pick only as one of its options.
    const isUnused = value === "" && Result.isFailure(validateInputValue(input, value))
    if (value !== undefined && !isUnused) return yield* acceptAs(input, value, "environment", name)
  }
  return undefined
})

const make = Effect.fnUntraced(function* ({ prompt, values = {}, runCommand }: InputSources) {
  const explicitValues = new Map(Object.entries(values))
  const cache = new Map<string, ResolvedInput>()
  const inFlight = yield* FiberMap.make<string, ResolvedInput, InputMissing>()

  const peek = Effect.fnUntraced(function* (input: Input, server: InputUser | undefined) {
    const explicit = explicitValues.get(input.id)
    if (explicit !== undefined) {
      return Option.some(yield* acceptAs(input, explicit, "explicit", `the value of input "${input.id}"`))
    }
    const key = cacheKey(input, server)
    const found = cache.get(key) ?? (yield* fromEnvironment(input, server))
    if (found !== undefined) cache.set(key, found)
    return Option.fromUndefinedOr(found ?? cache.get(cacheKey(input)))
  })

  const fromCommand = (input: CommandInput) =>
    runCommand &&
    Effect.mapBoth(runCommand(input), {
      onSuccess: (value): ResolvedInput => ({ value, source: "command" }),
      onFailure: ({ message }) => missing(input, `the command of input "${input.id}" ${message}`)
    })
  const fromPrompt = Effect.fnUntraced(function* (input: PromptInput) {
    const answer = prompt && Option.getOrUndefined(yield* prompt(input))
    return answer === undefined ? undefined : yield* acceptAs(input, answer, "prompt", "the answer")
  })

  const obtain = Effect.fnUntraced(function* (input: Input) {
    const obtaining = input.type === "command" ? fromCommand(input) : fromPrompt(input)
    const resolved = obtaining && (yield* obtaining)
    if (resolved !== undefined) return resolved
    const value = defaultInputValue(input)
    if (value !== undefined) return { value, source: "default" } satisfies ResolvedInput
    return yield* missing(
      input,
      `input "${input.id}" has no value: set the environment variable ${inputVariableName(input.id)} ` +
        `or pass --input ${input.id}=@FILE`
    )
  })

  /** Runs in a fiber of the layer: other servers may await the same prompt after this caller is interrupted. */
  const obtainOnce = Effect.fnUntraced(function* (input: Input) {
    const key = cacheKey(input)
    const running = Option.getOrUndefined(FiberMap.getUnsafe(inFlight, key))
    const obtainAndCache = Effect.tap(obtain(input), (resolved) => Effect.sync(() => cache.set(key, resolved)))
    return yield* Fiber.join(running ?? (yield* FiberMap.run(inFlight, key, obtainAndCache)))
  })

  return Inputs.of({
    peek,
    resolve: (input, server) =>
      Effect.flatMap(peek(input, server), Option.match({ onSome: Effect.succeed, onNone: () => obtainOnce(input) })),
    set: (id, value) => Effect.sync(() => void explicitValues.set(id, value)),
    clear: (id) =>
      Effect.sync(() => {
        explicitValues.delete(id)
        for (const key of cache.keys()) if (key.startsWith(`[${JSON.stringify(id)},`)) cache.delete(key)
      })
  })
})

/** Defaults and options stand in the configuration, hence are no secrets; neither are booleans. */
const isSecretInput = (input: Input, { source, value }: ResolvedInput): boolean =>
  source !== "default" && input.type !== "pickString" && typeof value !== "boolean"

/** Resolves one placeholder; gives `undefined` when it is not defined. */
const resolvePlaceholder = Effect.fnUntraced(function* (
  text: string,
  server: ServerConfig,
  { config, variables }: Setup,
  onSecret: (value: string) => void,
  resolve: InputsShape["resolve"]
) {
  const reference = parsePlaceholder(text)
  switch (reference._tag) {
    case "Input": {
      const input = config.inputs.find(({ id }) => id === reference.id)
      if (input === undefined) return undefined
      const resolved = yield* Effect.mapError(resolve(input, server), ({ message }) => message)
      if (isSecretInput(input, resolved)) onSecret(String(resolved.value))
      return resolved.value
    }
    case "Environment": {
      const { fallback, name } = reference
      const value = yield* readEnvironment(name)
      if (value !== undefined) onSecret(value)
      // As in a shell, the fallback also replaces the empty text.
      const resolved = value === "" ? (fallback ?? value) : (value ?? fallback)
      return resolved ?? (yield* Effect.fail(`the environment variable ${name} is not set`))
    }
    case "Variable": {
      const value = findVariable(variables, server.name, reference.name)
      // Hosts of other configurations set none; its text instead of a folder would start the server with a wrong path.
      if (value === undefined && reference.name === "userHome") {
        return yield* Effect.fail("the home folder of ${userHome} is unknown: set HOME")
      }
      if (!Redacted.isRedacted(value)) return value
      onSecret(Redacted.value(value))
      return Redacted.value(value)
    }
  }
})

/** Resolves the placeholders of a server. Values become secrets; undefined ones stay verbatim and are logged. */
const makeEndpoints = ({ resolve }: InputsShape): Endpoints["Service"] =>
  Effect.fnUntraced(function* (server, setup, onSecret) {
    const { name, parameters, type } = server
    const values = new Map<string, unknown>()
    for (const text of findPlaceholders(parameters)) {
      values.set(text, yield* resolvePlaceholder(text, server, setup, onSecret, resolve))
    }
    const { unresolved, value } = renderPlaceholders(parameters, (text) => values.get(text))
    for (const text of unresolved) {
      yield* Effect.logWarning("unknown placeholder", { server: name, placeholder: text })
    }
    return yield* Effect.fromResult(decodeEndpoint(type, value))
  })

/** Values of the inputs that a configuration refers to by `${input:id}`. */
export class Inputs extends Context.Service<Inputs, InputsShape>()("a2c-smcp/application/computer/Inputs") {
  /**
   * Resolves inputs from explicit values, the environment (`A2C_SMCP_<ID>…`), a prompt or command, and the default, in
   * this order (spec §8.5). Resolves the endpoints of a configuration with them.
   */
  static readonly layer = (sources: InputSources = {}): Layer.Layer<Inputs | Endpoints> =>
    Layer.effectContext(
      Effect.map(make(sources), (inputs) => Context.add(Context.make(Inputs, inputs), Endpoints, makeEndpoints(inputs)))
    )
}
