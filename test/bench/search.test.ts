import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { ownSet, pins, sources } from "../../bench/search/corpus.ts"
import { contexts, recall } from "../../bench/search/searchSet.ts"

const [, tasks] = ownSet.queries[0] ?? assert.fail("the set has no queries")
const parts = { ...tasks, all: [...tasks.tuning, ...tasks["held out"]] }

const published = readFileSync("docs/mcp.md", "utf8")

/** The numbers of a row of the tables in docs/mcp.md. */
const rowOf = (name: string): ReadonlyArray<number> => {
  const row = published.split("\n").find((line) => line.startsWith(`| ${name} |`)) ?? ""
  return row
    .split("|")
    .slice(2, -1)
    .map((cell) => Number(cell.replaceAll(/[ ,%]/g, "")))
}

describe("search of a published office", () => {
  it("has at least 500 real tools, and queries whose tools exist", () => {
    assert.isAtLeast(ownSet.office.byName.size, 500)
    const known = new Set(sources.flatMap(({ server, tools }) => tools.map(({ name }) => `${server}/${name}`)))
    assert.deepStrictEqual(
      parts.all.flatMap(({ needs }) => needs.flat()).filter((tool) => !known.has(tool)),
      []
    )
  })

  it("states the licence of each source, a permissive one", () => {
    for (const { license, package: name, version } of sources) {
      assert.include(["MIT", "ISC", "Apache-2.0"], license)
      assert.isTrue(name !== "" && version !== "")
    }
  })

  for (const [name, part] of Object.entries(parts)) {
    it(`finds as many tools as docs/mcp.md states: ${name}`, () => {
      const shares = [1, 5, 10].map((limit) => Math.round(1000 * recall(ownSet, part, limit).share) / 10)
      assert.deepStrictEqual(rowOf(name), [part.length, ...shares])
    })
  }

  it("needs the context that docs/mcp.md states, to a tenth", () => {
    for (const [name, bytes] of Object.entries(contexts(ownSet, pins))) {
      const [stated = Number.NaN] = rowOf(name)
      assert.closeTo(bytes, stated, bytes / 10, name)
    }
  })
})
