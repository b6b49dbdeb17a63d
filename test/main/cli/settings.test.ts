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
  for (const [variable, command] of [
    ["A2C_PORT", "server"],
    ["A2C_DEVICES_TCP", "devices gateway"],
    ["PORT", "tools serve"]
  ] as const) {
    it.effect(`checks the value of ${variable} like the value of its flag`, () =>
      Effect.gen(function* () {
        const printed = yield* failureOf(command.split(" "), { [variable]: "99999" })
        assert.include(printed, "a port from 0 to 65535")
      })
    )
  }
})
