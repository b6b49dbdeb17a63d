import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Logger, Option, Redacted } from "effect"
import { Inputs, type InputSources } from "../../../../src/application/computer/inputs/Inputs.ts"
import { Endpoints } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { setupOf, type TestComputer } from "../testComputer.ts"

interface Given extends Pick<TestComputer, "inputs" | "variables" | "environment"> {
  readonly sources?: InputSources
  readonly parameters?: JsonObject
}

/** Resolves the endpoint of a server with one argument; gives it with the secrets and the log. */
const resolved = Effect.fnUntraced(function* (
  argument: string,
  { environment = {}, parameters = {}, sources, ...given }: Given = {}
) {
  const secrets: Array<string> = []
  const logs: Array<unknown> = []
  const setup = setupOf(["alpha"], {
    ...given,
    configure: { alpha: { server_parameters: { command: "x", args: [argument], ...parameters } } }
  })
  const server = Option.getOrThrow(Option.fromUndefinedOr(setup.config.servers["alpha"]))
  const endpoint = yield* Endpoints.use((resolve) => resolve(server, setup, (value) => void secrets.push(value))).pipe(
    Effect.provide([
      Inputs.layer(sources),
      ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment })),
      Logger.layer([Logger.make(({ message }) => void logs.push(message))])
    ])
  )
  return { args: endpoint.type === "stdio" ? endpoint.args : [], logs, secrets }
})

const text = { type: "promptString", id: "key" }

describe("Endpoints", () => {
  const special = { A2C_SMCP_KEY_ALPHA: "special", A2C_SMCP_KEY: "general" }
  const other = { type: "promptString", id: "other", default: "o" }
  const pick = { type: "pickString", id: "key", options: ["S"] }
  const valued = (key: string | number | boolean): Given => ({ inputs: [text], sources: { values: { key } } })
  const token = { environment: { TOKEN: "hunter2" } }
  const redacted = { variables: { alpha: { "envFile:KEY": Redacted.make("hunter2") } } }

  it.effect.each<readonly [string, string, Given, string, ReadonlyArray<string>]>([
    [
      "an input by the variable of its server before the general one",
      "--key=${input:key}",
      { inputs: [text], environment: special },
      "--key=special",
      ["special"]
    ],
    [
      "an input by its value, which is a secret",
      "--key=${input:key}",
      { ...valued("hunter2"), inputs: [other, text] },
      "--key=hunter2",
      ["hunter2"]
    ],
    ["an input by a number, which is a secret", "${input:key}", valued(123456), "123456", ["123456"]],
    ["an input by a boolean, which is no secret", "${input:key}", valued(true), "true", []],
    ["an input by a default, which is no secret", "${input:key}", { inputs: [{ ...text, default: "x" }] }, "x", []],
    ["an input by an option, which is no secret", "${input:key}", { ...valued("S"), inputs: [pick] }, "S", []],
    ["an environment variable by its value, which is a secret", "${env:TOKEN:-no}", token, "hunter2", ["hunter2"]],
    ["a missing environment variable by its fallback, which is no secret", "${env:TOKEN:-none}", {}, "none", []],
    [
      "a variable of the host by its value, which is no secret",
      "${userHome}/x",
      { variables: { alpha: { userHome: "/home/u" } } },
      "/home/u/x",
      []
    ],
    ["a redacted variable of the host, which is a secret", "${envFile:KEY}", redacted, "hunter2", ["hunter2"]]
  ])("replaces %s", ([, argument, given, expected, expectedSecrets]) =>
    Effect.gen(function* () {
      const { args, secrets } = yield* resolved(argument, given)
      assert.deepStrictEqual([args, secrets], [[expected], expectedSecrets])
    })
  )

  it.effect("fails for an input without a value", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(resolved("${input:key}", { inputs: [text] }))
      assert.include(error, 'input "key" has no value')
    })
  )

  it.effect.each([
    ["${env:A2C_TEST_EMPTY}", ""],
    ["--token=${env:A2C_TEST_EMPTY}", "--token="],
    ["${env:A2C_TEST_EMPTY:-none}", "none"],
    ["${env:A2C_TEST_EMPTY:-}", ""],
    ["${input:test_empty}", ""],
    ["<${input:test_empty}>", "<>"],
    ["${input:test_empty_pick}", "S"],
    ["${input:test_empty_option}", ""]
  ] as const)("takes an empty environment variable as the empty text: %s is %j", ([placeholder, expected]) =>
    Effect.gen(function* () {
      const names = ["A2C_TEST_EMPTY", "A2C_SMCP_TEST_EMPTY", "A2C_SMCP_TEST_EMPTY_PICK", "A2C_SMCP_TEST_EMPTY_OPTION"]
      yield* Effect.acquireRelease(
        Effect.sync(() => Object.assign(process.env, Object.fromEntries(names.map((name) => [name, ""])))),
        () => Effect.sync(() => names.forEach((name) => delete process.env[name]))
      )
      const { args } = yield* resolved(placeholder, {
        inputs: [
          { type: "promptString", id: "test_empty", default: "default" },
          { type: "pickString", id: "test_empty_pick", options: ["S"], default: "S" },
          { type: "pickString", id: "test_empty_option", options: ["", "S"], default: "S" }
        ]
      })
      assert.deepStrictEqual(args, [expected])
    })
  )

  it.effect("fails for a missing environment variable without a fallback", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(resolved("${env:TOKEN}"))
      assert.include(error, "TOKEN")
    })
  )

  it.effect.each(["${input:ghost}", "${ghost}"])("keeps the unknown placeholder %s and logs it", (placeholder) =>
    Effect.gen(function* () {
      const { args, logs } = yield* resolved(placeholder, { inputs: [text] })
      assert.deepStrictEqual(args, [placeholder])
      assert.deepStrictEqual(logs, [
        ["unknown placeholder", { server: "alpha", placeholder: placeholder.slice(2, -1) }]
      ])
    })
  )

  it.effect("fails for parameters that are invalid after the replacement", () =>
    Effect.gen(function* () {
      const parameters = { encoding_error_handler: "${env:MODE}" }
      const error = yield* Effect.flip(resolved("x", { parameters, environment: { MODE: "hunter2" } }))
      assert.include(error, "encoding_error_handler")
      assert.notInclude(error, "hunter2")
    })
  )
})
