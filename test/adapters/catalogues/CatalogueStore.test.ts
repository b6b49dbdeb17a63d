import { chmodSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Result } from "effect"
import * as FileCatalogueStore from "../../../src/adapters/catalogues/FileCatalogueStore.ts"
import * as MemoryCatalogueStore from "./MemoryCatalogueStore.ts"
import { CatalogueStore } from "../../../src/application/ports/mcp/CatalogueStore.ts"
import {
  type CatalogueKey,
  openCatalogue,
  sealCatalogue,
  type ServerCatalogue
} from "../../../src/domain/tools/ServerCatalogue.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

const key: CatalogueKey = { computer: "desk", server: "notes", config: "c1" }

const catalogue: ServerCatalogue = {
  info: {
    name: "notes",
    version: "1",
    capabilities: { tools: true, resources: true, subscribe: false, prompts: true },
    instructions: "ü \ud800",
    implementation: { name: "notes", title: "Notes" }
  },
  tools: [{ name: "write", inputSchema: { type: "object", properties: { é: { type: "string" } } } }],
  resources: [{ uri: "file:///x" }],
  prompts: [{ name: "greet" }],
  templates: [{ uriTemplate: "file:///{name}" }]
}

const sealed = Result.getOrThrow(sealCatalogue(key, catalogue))

const contract = (name: string, layer: Effect.Effect<Layer.Layer<CatalogueStore>, never, never>) =>
  describe(name, () => {
    it.effect("gives what was saved last, by Computer, server and configuration", () =>
      Effect.gen(function* () {
        const { load, save } = yield* CatalogueStore
        assert.isUndefined(yield* load(key))
        yield* save(key, { other: 1 })
        yield* save(key, sealed)
        const loaded = yield* load(key)
        assert.deepStrictEqual(Result.getOrThrow(openCatalogue(key, loaded ?? {})), catalogue)
        for (const other of [
          { ...key, computer: "lab" },
          { ...key, server: "files" },
          { ...key, config: "c2" },
          { computer: "des", server: "knotes", config: "c1" },
          { ...key, server: "__proto__" }
        ]) {
          assert.isUndefined(yield* load(other))
        }
      }).pipe(Effect.provide(Effect.runSync(layer)))
    )
  })

contract("catalogues in memory", Effect.succeed(MemoryCatalogueStore.layer))

describe("folder of catalogues", () => {
  const effect = (title: string, body: (path: string) => Effect.fn.Return<void, unknown, CatalogueStore>) =>
    it.effect(title, () =>
      Effect.flatMap(temporaryFolder, (path) =>
        Effect.provide(Effect.fnUntraced(body)(path), FileCatalogueStore.layer(join(path, "cache")))
      )
    )
  const filesOf = (path: string) => readdirSync(join(path, "cache")).map((name) => join(path, "cache", name))

  effect("has one file for each catalogue, for its owner only", function* (path) {
    const { load, save } = yield* CatalogueStore
    assert.isUndefined(yield* load(key))
    yield* save(key, sealed)
    yield* save(key, sealed)
    yield* save({ ...key, server: "files" }, { other: 1 })
    assert.deepStrictEqual(
      filesOf(path).map((file) => statSync(file).mode & 0o777),
      [0o600, 0o600]
    )
    assert.strictEqual(statSync(join(path, "cache")).mode & 0o777, 0o700)
    assert.deepStrictEqual(Result.getOrThrow(openCatalogue(key, (yield* load(key)) ?? {})), catalogue)
  })

  const rejects = (title: string, contents: string, reason: string, mode = 0o600) =>
    effect(`does not use a file ${title}, and replaces it`, function* (path) {
      const { load, save } = yield* CatalogueStore
      yield* save(key, sealed)
      const [file = ""] = filesOf(path)
      writeFileSync(file, contents)
      chmodSync(file, mode)
      assert.include((yield* Effect.flip(load(key))).message, reason)
      yield* save(key, sealed)
      assert.deepStrictEqual(yield* load(key), JSON.parse(readFileSync(file, "utf8")))
    })
  rejects("that is not JSON", "{", "it is not JSON")
  rejects("that is a list", "[]", "it is not a JSON object")
  rejects("that others have access to", "{}", "others have access", 0o644)
  rejects("that is too large", " ".repeat(9 * 1024 * 1024), "it is larger than")

  effect("keeps no catalogue that is too large", function* () {
    const { save } = yield* CatalogueStore
    const error = yield* Effect.flip(save(key, { text: "x".repeat(9 * 1024 * 1024) }))
    assert.match(error.message, /Cannot write the catalogue in .*: it exceeds 8388608 bytes/)
  })

  for (const surplus of [1, 7]) {
    effect(`removes the ${surplus} files that were written first, and no other ones`, function* (path) {
      const { load, save } = yield* CatalogueStore
      yield* save(key, sealed)
      const [oldest = ""] = filesOf(path)
      utimesSync(oldest, 1, 1)
      writeFileSync(join(path, "cache", "notes.txt"), "")
      utimesSync(join(path, "cache", "notes.txt"), 0, 0)
      for (let index = 0; index < 498 + surplus; index++) {
        const file = join(path, "cache", `${index}.json`)
        writeFileSync(file, "{}")
        if (index < surplus - 1) utimesSync(file, 2, 2)
      }
      assert.isDefined(yield* load(key))
      yield* save({ ...key, server: "files" }, { other: 1 })
      assert.isUndefined(yield* load(key))
      assert.deepStrictEqual(yield* load({ ...key, server: "files" }), { other: 1 })
      const left = filesOf(path).map((file) => basename(file))
      assert.deepStrictEqual([left.length, left.includes("notes.txt")], [501, true])
      assert.deepStrictEqual(
        [surplus - 2, surplus - 1].map((index) => left.includes(`${index}.json`)),
        [false, true]
      )
    })
  }
})

describe("digest of a catalogue", () => {
  const rejects = (title: string, changed: object, of: CatalogueKey = key) =>
    it(`rejects ${title}`, () =>
      assert.isTrue(Result.isFailure(openCatalogue(of, JSON.parse(JSON.stringify({ ...sealed, ...changed }))))))
  rejects("another tool", { catalogue: { ...(sealed["catalogue"] as object), tools: [] } })
  rejects("another digest", { sha256: "0".repeat(64) })
  rejects("another Computer", {}, { ...key, computer: "lab" })
  rejects("another server", {}, { ...key, server: "files" })
  rejects("another configuration", {}, { ...key, config: "c2" })

  it("is given to no catalogue that is nested too deeply", () => {
    let deep: object = {}
    for (let level = 0; level < 200; level++) deep = { deep }
    const sealing = sealCatalogue(key, { ...catalogue, tools: [{ deep }] })
    assert.deepStrictEqual(Result.isFailure(sealing) && sealing.failure, "nested deeper than 128 levels")
  })
})
