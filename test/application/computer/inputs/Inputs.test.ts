import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Deferred, Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import type { Input } from "../../../../src/domain/config/computerConfig.ts"

const user = (name: string) => ({ name, bundleId: name })

const optionsOf = (...values: ReadonlyArray<string>) => values.map((value) => ({ label: value, value }))

const prompt = (id: string): Input => ({ type: "promptString", id, description: "" })

const command: Input = { type: "command", id: "key", description: "", command: "print-key" }

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
  Inputs.use(({ resolve }) => Effect.map(resolve(prompt(id), user(server)), ({ value }) => value))

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
    const pick: Input = { type: "pickString", id: "size", description: "", options: optionsOf("S", "M") }
    return Effect.gen(function* () {
      const missing = yield* Effect.flip(Inputs.use(({ resolve }) => resolve(pick, user("s"))))
      assert.include(missing.message, "A2C_SMCP_SIZE")
      assert.notInclude(missing.message, "s3cret")
    }).pipe(Effect.provide(Layer.merge(Inputs.layer(), layer)))
  })

  it.effect("cases 210, 211: prefers the environment to the default", () => {
    const { layer } = counting({ A2C_SMCP_API_KEY: "e" })
    const withDefault = (id: string): Input => ({ type: "promptString", id, description: "", default: "d" })
    return Effect.gen(function* () {
      const { resolve } = yield* Inputs
      assert.deepStrictEqual(yield* resolve(withDefault("api_key"), user("s")), {
        value: "e",
        source: "environment"
      })
      assert.deepStrictEqual(yield* resolve(withDefault("other"), user("s")), { value: "d", source: "default" })
    }).pipe(Effect.provide(Layer.merge(Inputs.layer(), layer)))
  })

  it.effect("case 212: ignores a default outside the options", () => {
    const pick: Input = { type: "pickString", id: "size", description: "", options: optionsOf("S"), default: "M" }
    return Effect.gen(function* () {
      const missing = yield* Effect.flip(Inputs.use(({ resolve }) => resolve(pick, user("s"))))
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

  it.effect("resolves only cleared inputs again", () => {
    const prompted: Array<string> = []
    const prompt = ({ id }: Input) => Effect.sync(() => (prompted.push(id), Option.some(`answered ${id}`)))
    return Effect.gen(function* () {
      const { clear, set } = yield* Inputs
      yield* set("given", "explicit")
      assert.strictEqual(yield* valueOf("given", "s"), "explicit")
      for (const id of ["one", "ones"]) yield* valueOf(id, "s")
      for (const id of ["given", "one"]) yield* clear(id)
      for (const id of ["given", "one", "ones"]) assert.strictEqual(yield* valueOf(id, "s"), `answered ${id}`)
      assert.deepStrictEqual(prompted, ["one", "ones", "given", "one"])
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt }), counting({}).layer)))
  })

  it.effect("clears the answer under an explicit value, too", () => {
    let questions = 0
    const prompt = () => Effect.sync(() => Option.some(`answer ${++questions}`))
    return Effect.gen(function* () {
      const { clear, set } = yield* Inputs
      assert.strictEqual(yield* valueOf("token", "s"), "answer 1")
      yield* set("token", "explicit")
      assert.strictEqual(yield* valueOf("token", "s"), "explicit")
      yield* clear("token")
      assert.strictEqual(yield* valueOf("token", "s"), "answer 2")
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt }), counting({}).layer)))
  })

  it.effect("prefers an explicit value to the environment", () =>
    Effect.gen(function* () {
      const { resolve } = yield* Inputs
      assert.deepStrictEqual(yield* resolve(prompt("token"), user("s")), { value: 7, source: "explicit" })
    }).pipe(
      Effect.provide(Layer.merge(Inputs.layer({ values: { token: 7 } }), counting({ A2C_SMCP_TOKEN: "t" }).layer))
    )
  )

  it.effect("names a prompt as the source of its answer", () =>
    Effect.gen(function* () {
      const { resolve } = yield* Inputs
      assert.deepStrictEqual(yield* resolve(prompt("token"), user("s")), { value: "answered", source: "prompt" })
    }).pipe(
      Effect.provide(Layer.merge(Inputs.layer({ prompt: () => Effect.succeedSome("answered") }), counting({}).layer))
    )
  )

  it.effect("rejects an answer outside the options", () => {
    const pick: Input = { type: "pickString", id: "size", description: "", options: optionsOf("S"), default: "S" }
    return Effect.gen(function* () {
      const missing = yield* Effect.flip(Inputs.use(({ resolve }) => resolve(pick, user("s"))))
      assert.deepStrictEqual([missing._tag, missing.id], ["InputMissing", "size"])
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt: () => Effect.succeedSome("M") }), counting({}).layer)))
  })

  it.effect("uses the default after a declined prompt", () => {
    const withDefault: Input = { type: "promptString", id: "token", description: "", default: "d" }
    return Effect.gen(function* () {
      const { resolve } = yield* Inputs
      assert.deepStrictEqual(yield* resolve(withDefault, user("s")), { value: "d", source: "default" })
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt: () => Effect.succeedNone }), counting({}).layer)))
  })

  it.effect("prompts once for servers that resolve an input at the same time", () => {
    let questions = 0
    const prompt = () => Effect.sync(() => Option.some(`answer ${++questions}`)).pipe(Effect.delay("1 second"))
    return Effect.gen(function* () {
      const resolving = yield* Effect.forkChild(
        Effect.all([valueOf("token", "a"), valueOf("token", "b")], { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(resolving), ["answer 1", "answer 1"])
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt }), counting({}).layer)))
  })

  it.effect("prompts again for an input with another definition", () => {
    let questions = 0
    const prompt = () => Effect.sync(() => Option.some(`answer ${++questions}`))
    return Effect.gen(function* () {
      const { resolve } = yield* Inputs
      yield* valueOf("token", "s")
      const redefined = yield* resolve({ type: "promptString", id: "token", description: "another" }, user("s"))
      assert.strictEqual(redefined.value, "answer 2")
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt }), counting({}).layer)))
  })

  it.effect("runs the command of an input once", () => {
    let runs = 0
    const runCommand = () => Effect.sync(() => `output ${++runs}`)
    return Effect.gen(function* () {
      const { resolve } = yield* Inputs
      for (const server of ["a", "b"]) {
        assert.deepStrictEqual(yield* resolve(command, user(server)), { value: "output 1", source: "command" })
      }
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ runCommand }), counting({}).layer)))
  })

  it.effect("never prompts for an input with a command", () => {
    const prompted: Array<string> = []
    const prompt = ({ id }: Input) => Effect.sync(() => (prompted.push(id), Option.some("answered")))
    return Effect.gen(function* () {
      const missing = yield* Effect.flip(Inputs.use(({ resolve }) => resolve(command, user("s"))))
      assert.deepStrictEqual([missing.id, prompted], ["key", []])
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt }), counting({}).layer)))
  })

  it.effect("fails with the message of a failed command", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(Inputs.use(({ resolve }) => resolve(command, user("s"))))
      assert.strictEqual(missing.id, "key")
      assert.include(missing.message, "exited with 3")
    }).pipe(
      Effect.provide(
        Layer.merge(Inputs.layer({ runCommand: () => Effect.fail({ message: "exited with 3" }) }), counting({}).layer)
      )
    )
  )

  it.effect("peeks at a value of the environment and at an earlier answer, without a prompt", () => {
    let questions = 0
    const answer = () => Effect.sync(() => Option.some(`answer ${++questions}`))
    return Effect.gen(function* () {
      const { peek } = yield* Inputs
      assert.deepStrictEqual(yield* peek(prompt("size"), user("s")), Option.some({ value: "S", source: "environment" }))
      assert.deepStrictEqual(yield* peek(prompt("token"), user("s")), Option.none())
      yield* valueOf("token", "s")
      assert.deepStrictEqual(
        yield* peek(prompt("token"), user("other")),
        Option.some({ value: "answer 1", source: "prompt" })
      )
    }).pipe(Effect.provide(Layer.merge(Inputs.layer({ prompt: answer }), counting({ A2C_SMCP_SIZE: "S" }).layer)))
  })
})
