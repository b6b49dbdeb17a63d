import { assert, describe, it } from "vitest"
import { makeToolRevisions } from "../../../../src/application/computer/calls/toolRevisions.ts"
import type { CatalogueEntry } from "../../../../src/domain/tools/catalogue.ts"
import { setupOf } from "../stage.ts"

const entryOf = (name: string, description = "", server = "alpha"): CatalogueEntry => ({
  tool: { name, description, paramsSchema: {}, returnSchema: null },
  server,
  serverId: server,
  originalName: name,
  shortName: name,
  autoApply: false
})

/** Gives the revisions of these entries, in this order. */
const revisionsOf = (entries: ReadonlyArray<CatalogueEntry>) => {
  const revisionOf = makeToolRevisions()
  return entries.map((entry) => revisionOf(entry, undefined))
}

const tools = (count: number) => Array.from({ length: count }, (_, index) => entryOf(`t${index}`))

describe("revision of a tool", () => {
  it("stays the same for an equal definition", () => {
    assert.deepStrictEqual(revisionsOf([entryOf("t"), entryOf("t")]), [1, 1])
  })

  it("differs between tools, also of the same name", () => {
    const [one, two, other] = [entryOf("t"), entryOf("u"), entryOf("t", "", "beta")]
    assert.deepStrictEqual(revisionsOf([one, two, other, one, two, other]), [1, 2, 3, 1, 2, 3])
  })

  it("is never used again", () => {
    assert.deepStrictEqual(revisionsOf([entryOf("t", "a"), entryOf("t", "b"), entryOf("t", "a")]), [1, 2, 3])
  })

  it("changes with the configured endpoint, and when the server is not configured any more", () => {
    const revisionOf = makeToolRevisions()
    const configOf = (command: string) =>
      setupOf(["alpha"], { configure: { alpha: { server_parameters: { command } } } }).config.servers["alpha"]
    const entry = entryOf("t")
    assert.deepStrictEqual(
      [configOf("a"), configOf("a"), configOf("b"), undefined].map((config) => revisionOf(entry, config)),
      [1, 1, 2, 3]
    )
  })

  it("is kept for 1000 tools", () => {
    const thousand = tools(1000)
    assert.deepStrictEqual(
      revisionsOf([...thousand, ...thousand]).slice(1000),
      thousand.map((_, index) => index + 1)
    )
  })

  it("is forgotten for the tool whose revision is the oldest", () => {
    const revisions = revisionsOf([...tools(1001), entryOf("t1"), entryOf("t0")])
    assert.deepStrictEqual(revisions.slice(-2), [2, 1002])
  })

  it("counts as new after a change", () => {
    const changed = entryOf("t0", "changed")
    const revisions = revisionsOf([...tools(1000), changed, entryOf("t1000"), changed, entryOf("t1")])
    assert.deepStrictEqual(revisions.slice(-4), [1001, 1002, 1001, 1003])
  })
})
