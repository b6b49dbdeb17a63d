import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as MemoryCatalogueStore from "../../../adapters/catalogues/MemoryCatalogueStore.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeCatalogues } from "../../../../src/application/computer/servers/Catalogues.ts"
import { setupOf } from "../testComputer.ts"

const info = { name: "alpha", version: "1", capabilities: { tools: true, resources: false, subscribe: false } }

const catalogue = { info, tools: [{ name: "t" }], resources: [], prompts: [], templates: [] }

/** A server of this name, whose command has these arguments. */
const serverOf = (name: string, ...args: ReadonlyArray<string>) => {
  const server = setupOf([name]).config.servers[name]
  if (server === undefined) throw new Error(name)
  return { ...server, parameters: { command: "alpha", args } }
}

const alpha = serverOf("alpha", "--one")

const others = [
  ["another configuration", serverOf("alpha", "--two")],
  ["the same command under another name", serverOf("beta", "--one")]
] as const

describe("the kept catalogue of a lazy server", () => {
  it.effect("is that of its configuration, also where other settings have changed", () =>
    Effect.gen(function* () {
      const { load, save } = yield* makeCatalogues("pc", makeSecrets())
      assert.isUndefined(yield* load(alpha))
      yield* save(alpha, catalogue)
      assert.deepStrictEqual(yield* load(alpha), catalogue)
      assert.deepStrictEqual(yield* load({ ...alpha, disabled: true }), catalogue)
    })
  )

  it.effect.each(others)("is not used for %s", ([, other]) =>
    Effect.gen(function* () {
      const { load, save } = yield* makeCatalogues("pc", makeSecrets())
      yield* save(alpha, catalogue)
      assert.isUndefined(yield* load(other))
    })
  )

  it.effect.each(others)("is also kept for %s when that lists the same", ([, other]) =>
    Effect.gen(function* () {
      const { load, save } = yield* makeCatalogues("pc", makeSecrets())
      yield* save(alpha, catalogue)
      yield* save(other, catalogue)
      assert.deepStrictEqual(yield* load(other), catalogue)
    })
  )

  it.effect("is the last one of a configuration", () =>
    Effect.gen(function* () {
      const { load, save } = yield* makeCatalogues("pc", makeSecrets())
      const next = { ...catalogue, tools: [{ name: "u" }] }
      yield* save(alpha, catalogue)
      yield* save(alpha, next)
      assert.deepStrictEqual(yield* load(alpha), next)
      // The next run of the Computer.
      assert.deepStrictEqual(yield* (yield* makeCatalogues("pc", makeSecrets())).load(alpha), next)
    }).pipe(Effect.provide(MemoryCatalogueStore.layer))
  )

  it.effect.each(others)("is not used for %s where it is stored", ([, other]) =>
    Effect.gen(function* () {
      const { load, save } = yield* makeCatalogues("pc", makeSecrets())
      yield* save(alpha, catalogue)
      assert.isUndefined(yield* load(other))
      assert.deepStrictEqual(yield* load(alpha), catalogue)
    }).pipe(Effect.provide(MemoryCatalogueStore.layer))
  )
})
