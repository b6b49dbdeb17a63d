import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Console, Effect } from "effect"
import { Command } from "effect/cli"
import { rootCommand } from "../../../src/main/cli/root.ts"

/** Runs a command with variables of the environment; succeeds with what it writes when it fails. */
const failureOf = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: { readonly [name: string]: string }) {
  const lines: Array<string> = []
  const write = (...words: ReadonlyArray<unknown>) => void lines.push(words.join(" "))
  yield* Command.runWith(rootCommand, { version: "0" })(args).pipe(
    Effect.flip,
    Effect.provideService(Console.Console, { ...globalThis.console, log: write, error: write }),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.provide(NodeServices.layer)
  )
  return lines.join("\n")
})

describe("setting", () => {
  for (const [variable, command, value, expected] of [
    ["A2C_PORT", "server", "99999", "a port from 0 to 65535"],
    ["A2C_DEVICES_TCP", "devices gateway", "99999", "a port from 0 to 65535"],
    ["PORT", "tools serve", "99999", "a port from 0 to 65535"],
    ["A2C_ALLOW_ORIGIN", "server", "https://a.example,https://*.b.example", "an origin like https://example.org"],
    ["A2C_APP_ORIGIN", "server", "https://a.example/apps", "an origin like https://example.org"],
    ["A2C_PATH", "server", "/smcp,/office", "a path like /smcp"]
  ] as const) {
    it.effect(`checks the value of ${variable} like the value of its flag`, () =>
      Effect.gen(function* () {
        const message = yield* failureOf(command.split(" "), { [variable]: value })
        assert.include(message, expected)
      })
    )
  }
})
