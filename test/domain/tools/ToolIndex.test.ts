import { assert, describe, it } from "@effect/vitest"
import { makeToolIndex } from "../../../src/domain/tools/ToolIndex.ts"
import type { Tool } from "../../../src/domain/model/Tool.ts"

const tool = (name: string, description: string, more: Partial<Tool> = {}): readonly [string, Tool] => [
  name,
  { name, description, paramsSchema: {}, returnSchema: null, meta: {}, ...more }
]

const index = makeToolIndex([
  tool("desk__read_file", "Reads a file of the disk"),
  tool("desk__writeFile", "Writes text to a place", {
    paramsSchema: { properties: { path: {}, encoding: {} } }
  }),
  tool("lab__weather", "Tells what the sky will do", {
    meta: { a2c_tool_meta: JSON.stringify({ tags: ["forecast"] }) }
  }),
  tool("lab__send_mail", "Sends a letter about a file, a file or a file")
])

describe("ToolIndex", () => {
  it("weights a word in the name higher than repetitions in the description", () => {
    assert.strictEqual(index.search("file", 1)[0], "desk__read_file")
  })

  it("splits names in camel case into words", () => {
    assert.strictEqual(index.search("write", 1)[0], "desk__writeFile")
  })

  it("searches tags and parameters", () => {
    assert.deepStrictEqual(index.search("forecast", 5), ["lab__weather"])
    assert.deepStrictEqual(index.search("encoding", 5), ["desk__writeFile"])
  })

  it("uses only the first words of a long query", () => {
    const long = Array.from({ length: 100 }, (_, at) => `word${at}`).join(" ")
    assert.deepStrictEqual(index.search(`weather ${long}`, 5), ["lab__weather"])
    assert.deepStrictEqual(index.search(`${long} weather`, 5), [])
  })

  it("matches a prefix of a word", () => {
    assert.deepStrictEqual(index.search("weath", 5), ["lab__weather"])
  })

  it("weights a rare word higher than a common one", () => {
    assert.strictEqual(index.search("file mail", 1)[0], "lab__send_mail")
  })

  it("limits the results, and omits tools without a matching word", () => {
    assert.lengthOf(index.search("file", 2), 2)
    assert.deepStrictEqual(index.search("astrology", 5), [])
    assert.deepStrictEqual(index.search("", 5), [])
  })
})
