import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { connectAndList } from "../../../../src/application/computer/servers/runSession.ts"
import { McpConnector } from "../../../../src/application/ports/McpSession.ts"
import { ServerOutput } from "../../../../src/application/ports/mcp/ServerOutput.ts"
import { decodeEndpoint, withParameterDefaults } from "../../../../src/domain/config/endpointParameters.ts"

/** Connects to a server that prints these lines and never answers; gives the warnings, and the error at its end. */
const connectTo = Effect.fnUntraced(function* (command: string, lines: ReadonlyArray<string>, seconds: number) {
  const warnings: Array<unknown> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    if (logLevel === "Warn") warnings.push(message)
  })
  const secrets = makeSecrets()
  secrets.add("hunter22")
  const endpoint = yield* Effect.fromResult(decodeEndpoint("stdio", withParameterDefaults("stdio", { command })))
  const connect = (server: string) =>
    Effect.flatMap(ServerOutput, (record) => {
      for (const line of lines) record(server, line)
      return Effect.never
    })
  const connecting = yield* connectAndList("files", endpoint, secrets).pipe(
    Effect.scoped,
    Effect.flip,
    Effect.provide(Layer.merge(Layer.succeed(McpConnector, { connect }), Logger.layer([logger]))),
    Effect.provideService(References.MinimumLogLevel, "All"),
    Effect.forkScoped
  )
  yield* TestClock.adjust(`${seconds} seconds`)
  return { warnings, error: connecting.pollUnsafe() }
})

const warned = (fields: object) => [["MCP server does not answer yet", { server: "files", ...fields }]]

describe("an MCP server that does not answer", () => {
  it.effect("is not reported before five seconds", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* connectTo("npx", [], 4)).warnings, [])
    })
  )

  it.effect("is reported with what it may be doing, and its last line without secrets", () =>
    Effect.gen(function* () {
      for (const [command, reason] of [
        ["npx", "npx may be loading the package; is its registry reachable?"],
        ["C:\\tools\\uvx.exe", "C:\\tools\\uvx.exe may be loading the package; is its registry reachable?"],
        ["python3", "it has not answered"]
      ] as const) {
        const { warnings } = yield* connectTo(command, ["first", "key hunter22"], 30)
        assert.deepStrictEqual(warnings, warned({ reason, output: "key <redacted>" }))
      }
    })
  )

  it.effect("fails after a minute with its last line", () =>
    Effect.gen(function* () {
      const { error } = yield* connectTo("npx", ["waiting for the key hunter22"], 60)
      assert.deepInclude(JSON.stringify(error), "no response within 60 seconds")
      assert.include(JSON.stringify(error), "waiting for the key <redacted>")
    })
  )
})
