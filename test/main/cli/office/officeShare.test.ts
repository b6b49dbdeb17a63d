import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Result, Schedule } from "effect"
import { parseComputerConfig } from "../../../../src/domain/config/parseConfig.ts"
import { computerLayer } from "../../../../src/main/layers/computerLayer.ts"
import { a2cInProcess, messageOf, serverInProcess } from "../inProcess.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { portDefaults } from "../../../portDefaults.ts"

const config = Result.getOrThrow(parseComputerConfig({ servers: {} }))

/** An office with a Computer, and the commands of one user. */
const place = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const url = yield* serverInProcess
  yield* Layer.build(Layer.provide(computerLayer({ url, office: "o", name: "desk", config }), portDefaults))
  const agent = (...args: ReadonlyArray<string>) =>
    Effect.provide(
      a2cInProcess("agent", "--server", url, "--office", "o", ...args),
      ConfigProvider.layer(ConfigProvider.fromEnv({ env: { XDG_RUNTIME_DIR: folder, XDG_CACHE_HOME: folder } }))
    )
  const sockets = () =>
    existsSync(join(folder, "a2c")) ? readdirSync(join(folder, "a2c")).filter((name) => !name.startsWith(".")) : []
  /** Starts a command that shares the office. */
  const sharing = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
    const running = yield* Effect.forkScoped(agent(...args))
    const isShared = Effect.suspend(() => (sockets().length > 0 ? Effect.void : Effect.fail("not shared")))
    yield* Effect.retry(isShared, Schedule.spaced("10 millis"))
    return running
  })
  return { agent, folder, sharing, sockets }
})

describe("shared office of a2c agent", () => {
  it.live("serves one-shot commands of the same identity, with the same output as without it", () =>
    Effect.gen(function* () {
      const { agent, sharing } = yield* place
      const commands = [["--json", "members"], ["tools"], ["config"], ["--json", "desktop"], ["find"]] as const
      const withoutSid = (text: string) => text.replaceAll(/"sid": "[^"]*"/g, "")
      const run = Effect.forEach(commands, (args) =>
        Effect.map(agent(...args), ({ failure, stderr, stdout }) => [failure, stderr, withoutSid(stdout)])
      )
      const before = yield* run
      yield* sharing("watch")
      assert.deepStrictEqual(yield* run, before)
      assert.include(JSON.stringify(before), "desk")
    })
  )

  it.live("exists while the office is published over HTTP, and ends with that command", () =>
    Effect.gen(function* () {
      const { agent, sharing, sockets } = yield* place
      const running = yield* sharing("mcp", "--http", "0")
      assert.isUndefined((yield* agent("members")).failure)
      yield* Fiber.interrupt(running)
      assert.deepStrictEqual(sockets(), [])
      assert.isUndefined((yield* agent("members")).failure)
    })
  )

  it.live("is not used by another name, and not with --take-over", () =>
    Effect.gen(function* () {
      const { agent, sharing } = yield* place
      const running = yield* sharing("watch")
      assert.include(messageOf((yield* agent("--name", "other", "members")).failure), "has an Agent already")
      assert.isUndefined((yield* agent("--take-over", "members")).failure)
      assert.include(messageOf((yield* Fiber.join(running)).failure), "Replaced in office 'o'")
    })
  )

  it.live("is not used after a crash has left its socket behind", () =>
    Effect.gen(function* () {
      const { agent, folder, sharing, sockets } = yield* place
      const running = yield* sharing("watch")
      const [name = ""] = sockets()
      yield* Fiber.interrupt(running)
      writeFileSync(join(folder, "a2c", name), "")
      assert.isUndefined((yield* agent("members")).failure)
      const again = yield* Effect.forkScoped(agent("watch"))
      const served = Effect.map(agent("members"), ({ failure }) => failure)
      yield* Effect.repeat(served, {
        until: (failure) => failure === undefined,
        schedule: Schedule.spaced("10 millis")
      })
      yield* Fiber.interrupt(again)
    })
  )
})
