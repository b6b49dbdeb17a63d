import { Config, Context, Data, Effect, Fiber, FiberMap, Layer, Option } from "effect"
import {
  validateInputValue,
  defaultInputValue,
  inputEnvironmentNames,
  type InputValue,
  inputVariableName
} from "../../../domain/config/inputValues.ts"
import type { Input } from "../../../domain/config/computerConfig.ts"

/** An input has no value; the message says where one is looked for, never a value. */
export class InputMissing extends Data.TaggedError("InputMissing")<{
  readonly id: string
  readonly message: string
}> {}

/** The value of an input and where it comes from. */
export interface ResolvedInput {
  readonly value: InputValue
  readonly source: "given" | "environment" | "person" | "command" | "default"
}

/** Where values come from beside the environment and the defaults. */
export interface InputSources {
  /** Values by input id that win over everything else: from a command line or a host program. */
  readonly values?: { readonly [id: string]: InputValue }
  /** Asks a person; without it nobody is there. A person may have no answer. */
  readonly prompt?: (
    input: Exclude<Input, { readonly type: "command" }>
  ) => Effect.Effect<Option.Option<string>>
  /** Gives what the program of an input prints. Without it such inputs must be given. */
  readonly runCommand?: (
    input: Extract<Input, { readonly type: "command" }>
  ) => Effect.Effect<string, { readonly message: string }>
}

interface InputsShape {
  /** The value of an input for a server. Nobody is asked twice for the same input (spec §8.5). */
  readonly resolve: (input: Input, server: string) => Effect.Effect<ResolvedInput, InputMissing>
  /** The value, as far as it is known without asking a person or running a program. */
  readonly peek: (input: Input, server: string) => Effect.Effect<Option.Option<ResolvedInput>, InputMissing>
  /** Gives an input a value; servers that run keep the one they were started with. */
  readonly set: (id: string, value: InputValue) => Effect.Effect<void>
  /** Forgets what is known of an input, so that it is looked for anew. */
  readonly clear: (id: string) => Effect.Effect<void>
}

/** An input with the server it is for tells one value from another; a new definition asks anew. */
const cacheKey = (input: Input, server?: string): string => JSON.stringify([input, server])

const isForInput = (key: string, id: string): boolean => {
  const [input] = JSON.parse(key) as readonly [Input]
  return input.id === id
}

const missing = ({ id }: Input, message: string) => new InputMissing({ id, message })

const acceptAs = (input: Input, value: InputValue, source: ResolvedInput["source"], where: string) =>
  Effect.mapBoth(Effect.fromResult(validateInputValue(input, value)), {
    onSuccess: (accepted): ResolvedInput => ({ value: accepted, source }),
    onFailure: (problem) => missing(input, `${where} is ${problem}`)
  })

const fromEnvironment = Effect.fnUntraced(function* (input: Input, server: string) {
  for (const name of inputEnvironmentNames(input.id, server)) {
    const value = Option.getOrUndefined(yield* Effect.orDie(Config.option(Config.String(name))))
    if (value !== undefined) return Option.some(yield* acceptAs(input, value, "environment", name))
  }
  return Option.none<ResolvedInput>()
})

const fromDefault = (input: Input): Option.Option<ResolvedInput> =>
  Option.map(Option.fromUndefinedOr(defaultInputValue(input)), (value) => ({ value, source: "default" }))

/** Values of the inputs that a configuration refers to by `${input:id}`. */
export class Inputs extends Context.Service<Inputs, InputsShape>()("a2c-smcp/application/computer/Inputs") {
  /**
   * Values as they are given, else from the environment (`A2C_SMCP_<ID>…`), else from a person or a program, else the
   * defaults (spec §8.5).
   */
  static readonly layer = ({ prompt, values = {}, runCommand }: InputSources = {}): Layer.Layer<Inputs> =>
    Layer.effect(
      Inputs,
      Effect.gen(function* () {
        const explicitValues = new Map(Object.entries(values))
        const cache = new Map<string, ResolvedInput>()
        const inFlight = yield* FiberMap.make<string, ResolvedInput, InputMissing>()

        const peek = Effect.fnUntraced(function* (input: Input, server: string) {
          const explicit = explicitValues.get(input.id)
          if (explicit !== undefined) {
            return Option.some(yield* acceptAs(input, explicit, "given", `the value of input "${input.id}"`))
          }
          const cached = cache.get(cacheKey(input, server))
          if (cached !== undefined) return Option.some(cached)
          const found = yield* fromEnvironment(input, server)
          if (Option.isNone(found)) return Option.fromUndefinedOr(cache.get(cacheKey(input)))
          cache.set(cacheKey(input, server), found.value)
          return found
        })

        const fromCommand = (input: Extract<Input, { readonly type: "command" }>) =>
          runCommand === undefined
            ? Effect.succeedNone
            : Effect.mapBoth(runCommand(input), {
                onSuccess: (value) => Option.some<ResolvedInput>({ value, source: "command" }),
                onFailure: ({ message }) => missing(input, `the command of input "${input.id}" ${message}`)
              })
        const fromPrompt = Effect.fnUntraced(function* (input: Exclude<Input, { readonly type: "command" }>) {
          const answer = prompt === undefined ? Option.none() : yield* prompt(input)
          if (Option.isNone(answer)) return Option.none<ResolvedInput>()
          return Option.some(yield* acceptAs(input, answer.value, "person", "the answer"))
        })

        const obtain = Effect.fnUntraced(function* (input: Input) {
          const found = yield* input.type === "command" ? fromCommand(input) : fromPrompt(input)
          const resolved = Option.orElse(found, () => fromDefault(input))
          if (Option.isSome(resolved)) return resolved.value
          return yield* missing(
            input,
            `input "${input.id}" has no value: set the environment variable ${inputVariableName(input.id)} ` +
              `or give it with --input ${input.id}=VALUE`
          )
        })

        /** Outlives whoever asks: others may wait for the same answer, or will need it later. */
        const obtainOnce = Effect.fnUntraced(function* (input: Input) {
          const key = cacheKey(input)
          const running = Option.getOrUndefined(FiberMap.getUnsafe(inFlight, key))
          const obtainAndCache = Effect.tap(obtain(input), (resolved) =>
            Effect.sync(() => cache.set(key, resolved))
          )
          return yield* Fiber.join(running ?? (yield* FiberMap.run(inFlight, key, obtainAndCache)))
        })

        return Inputs.of({
          peek,
          resolve: (input, server) =>
            Effect.flatMap(peek(input, server), (found) =>
              Option.isSome(found) ? Effect.succeed(found.value) : obtainOnce(input)
            ),
          set: (id, value) => Effect.sync(() => void explicitValues.set(id, value)),
          clear: (id) =>
            Effect.sync(() => {
              explicitValues.delete(id)
              for (const key of cache.keys()) if (isForInput(key, id)) cache.delete(key)
            })
        })
      })
    )
}
