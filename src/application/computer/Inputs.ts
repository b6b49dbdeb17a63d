import { Config, Context, Data, Effect, Fiber, FiberMap, Layer, Option } from "effect"
import {
  acceptInput,
  defaultOf,
  environmentNames,
  type InputValue,
  variableFor
} from "../../domain/config/inputs.ts"
import type { Input } from "../../domain/protocol/v0_2/config.ts"

/** An input has no value; the message says where one is looked for, never a value. */
export class InputMissing extends Data.TaggedError("InputMissing")<{
  readonly id: string
  readonly message: string
}> {}

/** The value of an input and where it comes from. */
export interface Answer {
  readonly value: InputValue
  readonly source: "given" | "environment" | "person" | "command" | "default"
}

/** Where values come from beside the environment and the defaults. */
export interface InputSources {
  /** Values by input id that win over everything else: from a command line or a host program. */
  readonly given?: { readonly [id: string]: InputValue }
  /** Asks a person; without it nobody is there. A person may have no answer. */
  readonly ask?: (input: Exclude<Input, { readonly type: "command" }>) => Effect.Effect<Option.Option<string>>
  /** Gives what the program of an input prints. Without it such inputs must be given. */
  readonly run?: (
    input: Extract<Input, { readonly type: "command" }>
  ) => Effect.Effect<string, { readonly message: string }>
}

interface InputsShape {
  /** The value of an input for a server. Nobody is asked twice for the same input (spec §8.5). */
  readonly resolve: (input: Input, server: string) => Effect.Effect<Answer, InputMissing>
  /** The value, as far as it is known without asking a person or running a program. */
  readonly peek: (input: Input, server: string) => Effect.Effect<Option.Option<Answer>, InputMissing>
  /** Gives an input a value; servers that run keep the one they were started with. */
  readonly give: (id: string, value: InputValue) => Effect.Effect<void>
  /** Forgets what is known of an input, so that it is looked for anew. */
  readonly forget: (id: string) => Effect.Effect<void>
}

/** An input with the server it is for tells one value from another; a new definition asks anew. */
const keyOf = (input: Input, server?: string): string => JSON.stringify([input, server])

const isOf = (key: string, id: string): boolean => {
  const [input] = JSON.parse(key) as readonly [Input]
  return input.id === id
}

const missing = ({ id }: Input, message: string) => new InputMissing({ id, message })

const accept = (input: Input, value: InputValue, source: Answer["source"], where: string) =>
  Effect.mapBoth(Effect.fromResult(acceptInput(input, value)), {
    onSuccess: (accepted): Answer => ({ value: accepted, source }),
    onFailure: (why) => missing(input, `${where} is ${why}`)
  })

const fromEnvironment = Effect.fnUntraced(function* (input: Input, server: string) {
  for (const name of environmentNames(input.id, server)) {
    const value = Option.getOrUndefined(yield* Effect.orDie(Config.option(Config.String(name))))
    if (value !== undefined) return Option.some(yield* accept(input, value, "environment", name))
  }
  return Option.none<Answer>()
})

const fromDefault = (input: Input): Option.Option<Answer> =>
  Option.map(Option.fromUndefinedOr(defaultOf(input)), (value) => ({ value, source: "default" }))

/** Values of the inputs that a configuration refers to by `${input:id}`. */
export class Inputs extends Context.Service<Inputs, InputsShape>()("a2c-smcp/application/computer/Inputs") {
  /**
   * Values as they are given, else from the environment (`A2C_SMCP_<ID>…`), else from a person or a program, else the
   * defaults (spec §8.5).
   */
  static readonly layer = ({ ask, given = {}, run }: InputSources = {}): Layer.Layer<Inputs> =>
    Layer.effect(
      Inputs,
      Effect.gen(function* () {
        const gifts = new Map(Object.entries(given))
        const known = new Map<string, Answer>()
        const asking = yield* FiberMap.make<string, Answer, InputMissing>()

        const peek = Effect.fnUntraced(function* (input: Input, server: string) {
          const gift = gifts.get(input.id)
          if (gift !== undefined) {
            return Option.some(yield* accept(input, gift, "given", `the value of input "${input.id}"`))
          }
          const answer = known.get(keyOf(input, server))
          if (answer !== undefined) return Option.some(answer)
          const found = yield* fromEnvironment(input, server)
          if (Option.isNone(found)) return Option.fromUndefinedOr(known.get(keyOf(input)))
          known.set(keyOf(input, server), found.value)
          return found
        })

        const fromCommand = (input: Extract<Input, { readonly type: "command" }>) =>
          run === undefined
            ? Effect.succeedNone
            : Effect.mapBoth(run(input), {
                onSuccess: (value) => Option.some<Answer>({ value, source: "command" }),
                onFailure: ({ message }) => missing(input, `the command of input "${input.id}" ${message}`)
              })
        const fromPerson = Effect.fnUntraced(function* (input: Exclude<Input, { readonly type: "command" }>) {
          const answer = ask === undefined ? Option.none() : yield* ask(input)
          if (Option.isNone(answer)) return Option.none<Answer>()
          return Option.some(yield* accept(input, answer.value, "person", "the answer"))
        })

        const obtain = Effect.fnUntraced(function* (input: Input) {
          const found = yield* input.type === "command" ? fromCommand(input) : fromPerson(input)
          const answer = Option.orElse(found, () => fromDefault(input))
          if (Option.isSome(answer)) return answer.value
          return yield* missing(
            input,
            `input "${input.id}" has no value: set the environment variable ${variableFor(input.id)} ` +
              `or give it with --input ${input.id}=VALUE`
          )
        })

        /** Outlives whoever asks: others may wait for the same answer, or will need it later. */
        const askOnce = Effect.fnUntraced(function* (input: Input) {
          const key = keyOf(input)
          const running = Option.getOrUndefined(FiberMap.getUnsafe(asking, key))
          const obtained = Effect.tap(obtain(input), (answer) => Effect.sync(() => known.set(key, answer)))
          return yield* Fiber.join(running ?? (yield* FiberMap.run(asking, key, obtained)))
        })

        return Inputs.of({
          peek,
          resolve: (input, server) =>
            Effect.flatMap(peek(input, server), (found) =>
              Option.isSome(found) ? Effect.succeed(found.value) : askOnce(input)
            ),
          give: (id, value) => Effect.sync(() => void gifts.set(id, value)),
          forget: (id) =>
            Effect.sync(() => {
              gifts.delete(id)
              for (const key of known.keys()) if (isOf(key, id)) known.delete(key)
            })
        })
      })
    )
}
