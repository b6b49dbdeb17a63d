import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Queue } from "effect"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { diffSetups, type Setup } from "../../../src/domain/config/Setup.ts"
import { readConfigFiles } from "../../../src/main/config/configFiles.ts"
import { watchConfig } from "../../../src/main/config/watchConfig.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

const named = (name: string) =>
  JSON.stringify({ servers: { [name]: { type: "stdio", server_parameters: { command: "x" } } } })

/** A Computer that reports the servers of each setup. */
const listening = Effect.fnUntraced(function* (first: Setup) {
  const given = yield* Queue.unbounded<ReadonlyArray<string>>()
  let setup = first
  const computer = Layer.mock(Computer, {
    setup: Effect.sync(() => setup),
    reconfigure: (next) =>
      Effect.sync(() => {
        const difference = diffSetups(setup, next)
        setup = next
        Queue.offerUnsafe(given, Object.keys(next.config.servers))
        return difference
      })
  })
  return { computer, given }
})

/** Watches a file that contains the server `one` at the start. */
const followed = Effect.fnUntraced(function* (meanwhile: (file: string) => void) {
  const folder = yield* temporaryFolder
  const file = join(folder, "mcp.json")
  writeFileSync(file, named("one"))
  const { setup, sources } = yield* readConfigFiles([file])
  if (setup === undefined) return yield* Effect.die("the file cannot be read")
  const { computer, given } = yield* listening(setup)
  meanwhile(file)
  const following = watchConfig({ files: [file], setup, sources, isWatching: true })
  yield* Effect.forkScoped(Effect.provide(following, computer))
  return { file, given }
})

describe("watchConfig", () => {
  layer(NodeServices.layer, { excludeTestServices: true })((it) => {
    it.effect("detects a change between reading and watching", () =>
      Effect.gen(function* () {
        const { given } = yield* followed((file) => writeFileSync(file, named("two")))
        assert.deepStrictEqual(yield* Effect.timeout(Queue.take(given), "30 seconds"), ["two"])
      })
    )

    it.effect("skips the initial configuration", () =>
      Effect.gen(function* () {
        const { file, given } = yield* followed(() => undefined)
        for (const name of ["two", "three"]) {
          writeFileSync(file, named(name))
          assert.deepStrictEqual(yield* Effect.timeout(Queue.take(given), "30 seconds"), [name])
        }
      })
    )
  })
})
