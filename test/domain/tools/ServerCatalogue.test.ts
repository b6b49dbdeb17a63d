import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { JsonObject } from "../../../src/domain/json.ts"
import {
  catalogueText,
  digestOfKey,
  makeCatalogueKey,
  openCatalogue,
  sealCatalogue,
  type ServerCatalogue
} from "../../../src/domain/tools/ServerCatalogue.ts"

const key = { computer: "desk", server: "notes", config: "c1" }
const catalogue: ServerCatalogue = {
  info: {
    name: "notes",
    version: "1",
    protocolVersion: "2025-11-25",
    capabilities: { tools: true, resources: false, subscribe: false, prompts: true },
    instructions: "Take notes."
  },
  tools: [{ name: "add" }],
  resources: [],
  prompts: [{ name: "greet" }],
  templates: []
}

const sealed = (changed: ServerCatalogue = catalogue): JsonObject => Result.getOrThrow(sealCatalogue(key, changed))

describe("a stored catalogue", () => {
  it("is opened by its key", () => {
    assert.deepStrictEqual(openCatalogue(key, sealed()), Result.succeed(catalogue))
  })

  it("is opened without what the MCP server did not tell", () => {
    const { instructions: _, protocolVersion: __, ...info } = catalogue.info
    const silent = { ...catalogue, info: { ...info, instructions: undefined, protocolVersion: undefined } }
    assert.deepStrictEqual(openCatalogue(key, sealed(silent)), Result.succeed({ ...catalogue, info }))
  })

  it.each([{ computer: "lab" }, { server: "files" }, { config: "c2" }])(
    "is not opened for another key: %j",
    (other) => {
      const opened = openCatalogue({ ...key, ...other }, sealed())
      assert.deepStrictEqual(opened, Result.fail("its digest is not that of its content"))
    }
  )

  it("is not opened when its content was changed", () => {
    const changed = { ...sealed(), catalogue: { ...catalogue, tools: [{ name: "remove" }] } }
    assert.isTrue(Result.isFailure(openCatalogue(key, changed)))
  })

  it("is not opened when it is malformed", () => {
    for (const malformed of [{}, { ...sealed(), sha256: 7 }, { ...sealed(), catalogue: [] }]) {
      assert.isTrue(Result.isFailure(openCatalogue(key, malformed)))
    }
    const incomplete = { ...catalogue, tools: "x" } as unknown as ServerCatalogue
    assert.match(String(openCatalogue(key, sealed(incomplete))), /tools/)
  })

  it("is neither sealed nor opened when its JSON is too deep", () => {
    let deep: JsonObject = {}
    for (let depth = 0; depth < 2000; depth++) deep = { deep }
    assert.isTrue(Result.isFailure(sealCatalogue(key, { ...catalogue, tools: [deep] })))
    assert.isTrue(Result.isFailure(openCatalogue(key, { sha256: "x", catalogue: { tools: [deep] } })))
  })
})

describe("catalogueText", () => {
  it("is the same for equal catalogues, and another one for another listing", () => {
    const { capabilities, ...info } = catalogue.info
    const equal = { ...catalogue, info: { capabilities: { ...capabilities }, ...info } }
    assert.strictEqual(catalogueText(equal), catalogueText(catalogue))
    assert.notStrictEqual(catalogueText({ ...catalogue, prompts: [] }), catalogueText(catalogue))
  })
})

describe("the key of a catalogue", () => {
  const config = (command: string, type: "stdio" | "sse" = "stdio") =>
    ({ name: "notes", type, parameters: { command } }) as unknown as Parameters<typeof makeCatalogueKey>[1]

  it("differs by Computer, server and configuration", () => {
    const one = makeCatalogueKey("desk", config("a"))
    assert.deepInclude(one, { computer: "desk", server: "notes" })
    const others = [config("b"), config("a", "sse")].map((other) => makeCatalogueKey("desk", other))
    const digests = [one, ...others, { ...one, computer: "lab" }, { ...one, server: "files" }].map(digestOfKey)
    assert.strictEqual(new Set(digests).size, 5)
    assert.strictEqual(digestOfKey(makeCatalogueKey("desk", config("a"))), digestOfKey(one))
  })
})
