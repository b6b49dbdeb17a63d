import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Deferred, Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { Inputs, type InputSources } from "../../../../src/application/computer/inputs/Inputs.ts"
import type { Input } from "../../../../src/domain/config/computerConfig.ts"

const user = (name: string) => ({ name, bundleId: name })

const optionsOf = (...values: ReadonlyArray<string>) => values.map((value) => ({ label: value, value }))

const prompt = (id: string): Input => ({ type: "promptString", id, description: "" })

const withDefault: Input = { type: "promptString", id: "api_key", description: "", default: "d" }

const pick = (options: ReadonlyArray<string>, preset?: string): Input => ({
  type: "pickString",
  id: "size",
  description: "",
  options: optionsOf(...options),
  ...(preset !== undefined && { default: preset })
})

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

/** Inputs with these sources and environment variables. */
const layerOf = (sources: InputSources, environment: { readonly [name: string]: string } = {}) =>
  Layer.merge(Inputs.layer(sources), counting(environment).layer)

/** Inputs whose prompt answers with the number of its question, and the ids of these. */
const numbered = (environment?: { readonly [name: string]: string }) => {
  const prompted: Array<string> = []
  const prompt = ({ id }: Input) => Effect.sync(() => Option.some(`answer ${prompted.push(id)}`))
  return { prompted, layer: layerOf({ prompt }, environment) }
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

  it.effect("prefers the variable of a server to the general one", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* valueOf("token", "git-hub"), "special")
      assert.strictEqual(yield* valueOf("token", "other"), "general")
    }).pipe(Effect.provide(layerOf({}, { "A2C_SMCP_TOKEN_GIT-HUB": "special", A2C_SMCP_TOKEN: "general" })))
  )

  const answering = (answer: string): InputSources => ({ prompt: () => Effect.succeedSome(answer) })
  const environment = { A2C_SMCP_API_KEY: "e" }

  it.effect.each<[string, Input, InputSources, { readonly [name: string]: string }, unknown, string]>([
    ["cases 210, 211: prefers the environment to the default", withDefault, {}, environment, "e", "environment"],
    ["cases 210, 211: uses the default without a variable", withDefault, {}, {}, "d", "default"],
    [
      "prefers an explicit value to the environment",
      withDefault,
      { values: { api_key: 7 } },
      environment,
      7,
      "explicit"
    ],
    ["names a prompt as the source of its answer", prompt("token"), answering("answered"), {}, "answered", "prompt"],
    ["uses the default after a declined prompt", withDefault, { prompt: () => Effect.succeedNone }, {}, "d", "default"]
  ])("%s", ([, input, sources, variables, value, source]) =>
    Effect.gen(function* () {
      const { resolve } = yield* Inputs
      assert.deepStrictEqual<unknown>(yield* resolve(input, user("s")), { value, source })
    }).pipe(Effect.provide(layerOf(sources, variables)))
  )

  const failing: InputSources = { runCommand: () => Effect.fail({ message: "exited with 3" }) }
  const never: InputSources = { prompt: () => Effect.die("prompted") }

  it.effect.each<[string, Input, InputSources, { readonly [name: string]: string }, string]>([
    [
      "case 212: rejects a value outside the options without quoting it",
      pick(["S", "M"]),
      {},
      { A2C_SMCP_SIZE: "s3cret" },
      "A2C_SMCP_SIZE"
    ],
    ["case 212: ignores a default outside the options", pick(["S"], "M"), {}, {}, "has no value"],
    [
      "rejects an answer outside the options",
      pick(["S"], "S"),
      answering("s3cret"),
      {},
      "the answer is not one of the options"
    ],
    ["never prompts for an input with a command", command, never, {}, "has no value"],
    ["fails with the message of a failed command", command, failing, {}, "exited with 3"]
  ])("%s", ([, input, sources, variables, message]) =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(Inputs.use(({ resolve }) => resolve(input, user("s"))))
      assert.deepStrictEqual([missing._tag, missing.id], ["InputMissing", input.id])
      assert.include(missing.message, message)
      assert.notInclude(missing.message, "s3cret")
    }).pipe(Effect.provide(layerOf(sources, variables)))
  )

  it.effect("prefers the variable of a server to the prompted value of another server", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* valueOf("token", "a"), "answer 1")
      assert.strictEqual(yield* valueOf("token", "b"), "special")
    }).pipe(Effect.provide(numbered({ A2C_SMCP_TOKEN_B: "special" }).layer))
  )

  it.effect("keeps a prompted value after its caller was interrupted", () =>
    Effect.gen(function* () {
      let questions = 0
      const answer = yield* Deferred.make<string>()
      const prompting = () => Effect.suspend(() => (questions++, Effect.asSome(Deferred.await(answer))))
      yield* Effect.gen(function* () {
        const waiting = yield* Effect.forkChild(valueOf("token", "a"), { startImmediately: true })
        yield* Fiber.interrupt(waiting)
        yield* Deferred.succeed(answer, "t")
        yield* TestClock.adjust(0)
        assert.strictEqual(yield* valueOf("token", "a"), "t")
        assert.strictEqual(questions, 1)
      }).pipe(Effect.provide(layerOf({ prompt: prompting })))
    })
  )

  it.effect("resolves only cleared inputs again", () => {
    const { layer, prompted } = numbered()
    return Effect.gen(function* () {
      const { clear, set } = yield* Inputs
      yield* set("given", "explicit")
      assert.strictEqual(yield* valueOf("given", "s"), "explicit")
      for (const id of ["one", "ones"]) yield* valueOf(id, "s")
      for (const id of ["given", "one"]) yield* clear(id)
      const values = yield* Effect.forEach(["given", "one", "ones"], (id) => valueOf(id, "s"))
      assert.deepStrictEqual(values, ["answer 3", "answer 4", "answer 2"])
      assert.deepStrictEqual(prompted, ["one", "ones", "given", "one"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("also clears the answer under an explicit value", () =>
    Effect.gen(function* () {
      const { clear, set } = yield* Inputs
      assert.strictEqual(yield* valueOf("token", "s"), "answer 1")
      yield* set("token", "explicit")
      assert.strictEqual(yield* valueOf("token", "s"), "explicit")
      yield* clear("token")
      assert.strictEqual(yield* valueOf("token", "s"), "answer 2")
    }).pipe(Effect.provide(numbered().layer))
  )

  it.effect("prompts once for servers that resolve an input at the same time", () => {
    let questions = 0
    const slowly = () => Effect.sync(() => Option.some(`answer ${++questions}`)).pipe(Effect.delay("1 second"))
    return Effect.gen(function* () {
      const resolving = yield* Effect.forkChild(
        Effect.all([valueOf("token", "a"), valueOf("token", "b")], { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(resolving), ["answer 1", "answer 1"])
    }).pipe(Effect.provide(layerOf({ prompt: slowly })))
  })

  it.effect("prompts again for an input with another definition", () =>
    Effect.gen(function* () {
      const { resolve } = yield* Inputs
      yield* valueOf("token", "s")
      const redefined = yield* resolve({ type: "promptString", id: "token", description: "another" }, user("s"))
      assert.strictEqual(redefined.value, "answer 2")
    }).pipe(Effect.provide(numbered().layer))
  )

  it.effect("runs the command of an input once", () => {
    let runs = 0
    const runCommand = () => Effect.sync(() => `output ${++runs}`)
    return Effect.gen(function* () {
      const { resolve } = yield* Inputs
      for (const server of ["a", "b"]) {
        assert.deepStrictEqual(yield* resolve(command, user(server)), { value: "output 1", source: "command" })
      }
    }).pipe(Effect.provide(layerOf({ runCommand })))
  })

  it.effect("peeks at a value of the environment and at an earlier answer, without a prompt", () =>
    Effect.gen(function* () {
      const { peek } = yield* Inputs
      assert.deepStrictEqual(yield* peek(prompt("size"), user("s")), Option.some({ value: "S", source: "environment" }))
      assert.deepStrictEqual(yield* peek(prompt("token"), user("s")), Option.none())
      yield* valueOf("token", "s")
      assert.deepStrictEqual(
        yield* peek(prompt("token"), user("other")),
        Option.some({ value: "answer 1", source: "prompt" })
      )
    }).pipe(Effect.provide(numbered({ A2C_SMCP_SIZE: "S" }).layer))
  )
})
