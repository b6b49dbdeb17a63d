import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect } from "effect"
import { Command } from "effect/cli"
import { renameFormerFlags } from "../../../../src/main/cli/flags/setting.ts"
import { serverFlags } from "../../../../src/main/cli/server/flags.ts"
import { expandServerConfig } from "../../../../src/main/cli/server/flagsFile.ts"
import { temporaryFile } from "../../processes.ts"
import { a2cInProcess } from "../inProcess.ts"

/** The drain timeout of a Server in seconds, by its command line and environment. */
const drainTimeout = (args: ReadonlyArray<string>, env: { readonly [name: string]: string } = {}) =>
  Effect.gen(function* () {
    let seconds = 0
    const { drainTimeout: flag } = serverFlags
    const command = Command.make("server", { flag, config: serverFlags.config }, (options) =>
      Effect.sync(() => void (seconds = Duration.toSeconds(options.flag)))
    )
    const [, ...words] = yield* expandServerConfig(renameFormerFlags(["server", ...args]))
    yield* Command.runWith(command, { version: "0" })(words)
    return seconds
  }).pipe(
    Effect.provide(NodeServices.layer),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
  )

describe("a former name", () => {
  it.live("works as a flag", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* drainTimeout(["--grace=7"]), 7)
      assert.strictEqual(yield* drainTimeout(["--grace", "8"]), 8)
    })
  )

  it.live("works as a variable, unless the current one is set", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* drainTimeout([], { A2C_GRACE: "7" }), 7)
      assert.strictEqual(yield* drainTimeout([], { A2C_GRACE: "7", A2C_DRAIN_TIMEOUT: "8" }), 8)
    })
  )

  it.live("works in a file of flags, which gives way to flags and variables of both names", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("server.yaml", "grace: 7\n")
      assert.strictEqual(yield* drainTimeout(["--config", file]), 7)
      assert.strictEqual(yield* drainTimeout(["--config", file, "--grace", "8"]), 8)
      assert.strictEqual(yield* drainTimeout(["--config", file, "--drain-timeout", "9"]), 9)
      assert.strictEqual(yield* drainTimeout(["--config", file], { A2C_GRACE: "10" }), 10)
      assert.strictEqual(yield* drainTimeout(["--config", file], { A2C_DRAIN_TIMEOUT: "11" }), 11)
    })
  )

  it.live("is rejected with an invalid value", () =>
    Effect.gen(function* () {
      const { failure } = yield* a2cInProcess("server", "--grace", "soon")
      assert.match(JSON.stringify(failure), /"option":"drain-timeout"|--drain-timeout/)
    })
  )

  it("stays as it is among the arguments of another program", () => {
    assert.deepStrictEqual(renameFormerFlags(["device", "--grace", "1", "--", "program", "--grace=1"]), [
      "device",
      "--drain-timeout",
      "1",
      "--",
      "program",
      "--grace=1"
    ])
  })

  it("exists for each flag that was renamed", () => {
    const former = ["grace", "idle-time", "join-time", "max-notice-backlog", "name-budget"]
    assert.deepStrictEqual(renameFormerFlags(former.map((name) => `--${name}`)), [
      "--drain-timeout",
      "--idle-timeout",
      "--join-timeout",
      "--max-notification-backlog",
      "--max-name-length"
    ])
  })
})
