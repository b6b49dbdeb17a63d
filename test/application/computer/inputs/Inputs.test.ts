import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Deferred, Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import type { Input } from "../../../../src/domain/config/computerConfig.ts"

const prompt = (id: string): Input => ({ type: "promptString", id, description: "" })

/** An environment that counts the lookups of each variable. */
const counting = (variables: { readonly [name: string]: string }) => {
  const lookups = new Map<string, number>()
  const env = new Proxy(variables, {
    get: (target, name) => {
      lookups.set(String(name), (lookups.get(String(name)) ?? 0) + 1)
      return Reflect.get(target, name)
    }
  })
  return { lookups, layer: ConfigProvider.layer(ConfigProvider.fromEnv({ env })) }
}

const valueOf = (id: string, server: string) =>
  Inputs.use(({ resolve }) => Effect.map(resolve(prompt(id), server), ({ value }) => value))

describe("Inputs", () => {
  it.effect("case 216: looks up an input once for several references", () => {
    const { layer, lookups } = counting({ A2C_SMCP_TOKEN: "t" })
    return Effect.gen(function* () {
      assert.strictEqual(yield* valueOf("token", "s"), "t")
      const once = lookups.get("A2C_SMCP_TOKEN")
      assert.strictEqual(yield* valueOf("token", "s"), "t")
      assert.strictEqual(lookups.get("A2C_SMCP_TOKEN"), once)
    }).pipe(Effect.provide(Layer.merge(Inputs.layer(), layer)))
  })

  it.effect("prefers the variable of a server to the general one", () => {
    const { layer } = counting({ "A2C_SMCP_TOKEN_GIT-HUB": "special", A2C_SMCP_TOKEN: "general" })
    return Effect.gen(function* () {
      assert.strictEqual(yield* valueOf("token", "git-hub"), "special")
      assert.strictEqual(yield* valueOf("token", "other"), "general")
    }).pipe(Effect.provide(Layer.merge(Inputs.layer(), layer)))
  })

  it.effect("case 212: rejects a value outside the options without quoting it", () => {
    const { layer } = counting({ A2C_SMCP_SIZE: "s3cret" })
    const pick: Input = { type: "pickString", id: "size", description: "", options: ["S", "M"] }
    return Effect.gen(function* () {
      const missing = yield* Effect.flip(Inputs.use(({ resolve }) => resolve(pick, "s")))
      assert.include(missing.message, "A2C_SMCP_SIZE")
      assert.notInclude(missing.message, "s3cret")
    }).pipe(Effect.provide(Layer.merge(Inputs.layer(), layer)))
  })

  it.effect("cases 210, 211: prefers the environment to the default", () => {
    const { layer } = counting({ A2C_SMCP_API_KEY: "e" })
    const withDefault = (id: string): Input => ({ type: "promptString", id, description: "", default: "d" })
    return Effect.gen(function* () {
      const { resolve } = yield* Inputs
      assert.deepStrictEqual(yield* resolve(withDefault("api_key"), "s"), {
        value: "e",
        source: "environment"
      })
      assert.deepStrictEqual(yield* resolve(withDefault("other"), "s"), { value: "d", source: "default" })
    }).pipe(Effect.provide(Layer.merge(Inputs.layer(), layer)))
  })

  it.effect("case 212: ignores a default outside the options", () => {
    const pick: Input = { type: "pickString", id: "size", description: "", options: ["S"], default: "M" }
    return Effect.gen(function* () {
      const missing = yield* Effect.flip(Inputs.use(({ resolve }) => resolve(pick, "s")))
      assert.include(missing.message, "has no value")
    }).pipe(Effect.provide(Layer.merge(Inputs.layer(), counting({}).layer)))
  })

  it.effect("prefers the variable of a server to the prompted value of another server", () => {
    const { layer } = counting({ A2C_SMCP_TOKEN_B: "special" })
    const prompt = () => Effect.succeedSome("answered")
    return Effect.gen(function* () {
      assert.strictEqual(yield* valueOf("token", "a"), "answered")
      assert.strictEqual(yield* valueOf("token", "b"), "special")
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt }), layer)))
  })

  it.effect("keeps a prompted value after its caller was interrupted", () => {
    let questions = 0
    return Effect.gen(function* () {
      const answer = yield* Deferred.make<string>()
      const prompt = () =>
        Effect.suspend(() => {
          questions++
          return Effect.asSome(Deferred.await(answer))
        })
      yield* Effect.gen(function* () {
        const waiting = yield* Effect.forkChild(valueOf("token", "a"), { startImmediately: true })
        yield* Fiber.interrupt(waiting)
        yield* Deferred.succeed(answer, "t")
        yield* TestClock.adjust(0)
        assert.strictEqual(yield* valueOf("token", "a"), "t")
        assert.strictEqual(questions, 1)
      }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt }), counting({}).layer)))
    })
  })

  it.effect("resolves only a cleared input again", () => {
    const prompted: Array<string> = []
    const prompt = ({ id }: Input) => Effect.sync(() => (prompted.push(id), Option.some(`answered ${id}`)))
    return Effect.gen(function* () {
      const { clear, set } = yield* Inputs
      yield* set("one", "given")
      assert.strictEqual(yield* valueOf("one", "s"), "given")
      yield* valueOf("two", "s")
      yield* clear("one")
      assert.strictEqual(yield* valueOf("one", "s"), "answered one")
      yield* valueOf("two", "s")
      assert.deepStrictEqual(prompted, ["two", "one"])
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt }), counting({}).layer)))
  })
})
