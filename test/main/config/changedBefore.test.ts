import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { readKeyFile, watchKeyFile, watchTlsFiles } from "../../../src/main/config/serverFiles.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

const keysOf = (...subjects: ReadonlyArray<string>): string =>
  JSON.stringify({
    keys: subjects.map((subject, at) => ({
      subject,
      hash: `sha256:${String(at).repeat(64)}`,
      rights: ["agent"],
      offices: ["*"],
      names: ["*"]
    }))
  })

const pem = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), "utf8")

/** A change between reading and watching is detected without another change. */
describe("watched file that changed before the watch", () => {
  it.live("reloads API keys", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "keys.json")
      writeFileSync(file, keysOf("anna", "bert"))
      const known = yield* readKeyFile(file)
      writeFileSync(file, keysOf("anna"))
      const [entries] = yield* Stream.runCollect(Stream.take(watchKeyFile(file, known), 1))
      const subjects = entries?.map(({ subject }) => subject)
      assert.deepStrictEqual(subjects, ["anna"])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("reloads a certificate", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") }
      const cert = pem("first.cert")
      const key = pem("first.key")
      writeFileSync(files.cert, cert)
      writeFileSync(files.key, key)
      const { updates } = yield* watchTlsFiles(files)
      const renewed = `${cert}${pem("otherHost.cert")}`
      writeFileSync(files.cert, renewed)
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(updates, 1)), [{ cert: renewed, key }])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("skips an unchanged file", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "keys.json")
      writeFileSync(file, keysOf("anna"))
      const updates = watchKeyFile(file, yield* readKeyFile(file))
      const first = yield* Effect.forkChild(Stream.runCollect(Stream.take(updates, 1)))
      // Longer than the delay of the initial check.
      yield* Effect.sleep("400 millis")
      writeFileSync(file, keysOf("anna", "carl"))
      assert.deepStrictEqual(
        (yield* Fiber.join(first)).map((entries) => entries.length),
        [2]
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
