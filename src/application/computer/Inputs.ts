import { Config, Context, Data, Effect, Layer, Option } from "effect"
import { acceptInput, defaultOf, environmentNames } from "../../domain/config/inputs.ts"
import type { Input } from "../../domain/protocol/v0_2/config.ts"

/** An input has no value; the message says where one would be looked for, never a value. */
export class InputMissing extends Data.TaggedError("InputMissing")<{
  readonly id: string
  readonly message: string
}> {}

/** Values of the inputs that a configuration refers to by `${input:id}`. */
export class Inputs extends Context.Service<
  Inputs,
  {
    /** The value of an input for a server. Nobody is asked twice for the same input. */
    readonly resolve: (input: Input, server: string) => Effect.Effect<string, InputMissing>
  }
>()("a2c-smcp/application/computer/Inputs") {
  /** Values from the environment (`A2C_SMCP_<ID>…`), and else the defaults (spec §8.5). */
  static readonly layerEnvironment = Layer.sync(Inputs, () => {
    const known = new Map<string, string>()

    const find = Effect.fnUntraced(function* (input: Input, server: string) {
      for (const name of environmentNames(input.id, server)) {
        const value = Option.getOrUndefined(yield* Effect.orDie(Config.option(Config.String(name))))
        if (value === undefined) continue
        return yield* Effect.mapError(
          Effect.fromResult(acceptInput(input, value)),
          (why) => new InputMissing({ id: input.id, message: `${name} is ${why}` })
        )
      }
      const fallback = defaultOf(input)
      if (fallback !== undefined) return fallback
      const variable = environmentNames(input.id)[0] ?? ""
      return yield* new InputMissing({
        id: input.id,
        message: `input "${input.id}" has no value: set the environment variable ${variable}`
      })
    })

    return Inputs.of({
      resolve: (input, server) => {
        const key = JSON.stringify([input.id, server])
        const value = known.get(key)
        if (value !== undefined) return Effect.succeed(value)
        return Effect.tap(find(input, server), (found) => Effect.sync(() => known.set(key, found)))
      }
    })
  })
}

/** The values a configuration refers to, by input id; fails with the first that is missing. */
export const resolveAll = Effect.fnUntraced(function* (
  inputs: ReadonlyArray<Input>,
  ids: ReadonlyArray<string>,
  server: string
) {
  const resolver = yield* Inputs
  const defined = inputs.filter(({ id }) => ids.includes(id))
  const values = yield* Effect.forEach(defined, (input) =>
    Effect.map(resolver.resolve(input, server), (value) => [input.id, value] as const)
  )
  return new Map(values)
})
