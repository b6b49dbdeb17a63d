import { assert, describe, it } from "@effect/vitest"
import { makeToolIndex } from "../../../../src/domain/tools/search/ToolIndex.ts"
import type { Tool } from "../../../../src/domain/model/Tool.ts"

const tool = (name: string, description: string, more: Partial<Tool> = {}): readonly [string, Tool] => [
  name,
  { name, description, paramsSchema: {}, returnSchema: null, meta: {}, ...more }
]

const office = [
  tool("desk__read_file", "Reads a file of the disk"),
  tool("desk__writeFile", "Writes text to a place", {
    paramsSchema: { properties: { path: {}, encoding: {} } }
  }),
  tool("lab__weather", "Tells what the sky will do", {
    meta: { a2c_tool_meta: JSON.stringify({ tags: ["forecast"] }) }
  }),
  tool("lab__send_mail", "Sends a letter about a file, a file or a file")
]

const search = (query: string, limit = 5, tools = office) => makeToolIndex(tools).search(query, limit)

describe("ToolIndex", () => {
  it("weights a word in the name higher than repetitions in the description", () => {
    assert.strictEqual(search("file", 1)[0], "desk__read_file")
  })

  it("splits names in camel case into words", () => {
    assert.strictEqual(search("write", 1)[0], "desk__writeFile")
  })

  it("searches tags and parameters", () => {
    assert.deepStrictEqual(search("forecast", 5), ["lab__weather"])
    assert.deepStrictEqual(search("encoding", 5), ["desk__writeFile"])
  })

  it("searches the descriptions of parameters", () => {
    const tools = [
      tool("one", "", { paramsSchema: { properties: { a: { description: "Time zone of the city" }, b: true } } }),
      tool("two", "")
    ]
    assert.deepStrictEqual(search("zone", 5, tools), ["one"])
    assert.deepStrictEqual(search("city", 5, tools), ["one"])
  })

  it("searches the whole name of a tool whose exposed name is shortened", () => {
    assert.deepStrictEqual(search("pipeline", 5, [tool("desk__run_1a2b3c4d", "", { name: "run_pipeline" })]), [
      "desk__run_1a2b3c4d"
    ])
  })

  it("searches the beginning of a long description only", () => {
    const tools = [tool("one", `mail ${"x ".repeat(1000)} late`)]
    assert.deepStrictEqual(search("mail", 5, tools), ["one"])
    assert.deepStrictEqual(search("late", 5, tools), [])
  })

  it("finds plurals and singulars", () => {
    assert.deepStrictEqual(search("letters", 5), ["lab__send_mail"])
    assert.deepStrictEqual(search("branch", 5, [tool("one", "all branches")]), ["one"])
  })

  it("finds synonyms, and weights them lower than the word itself", () => {
    const tools = [tool("one", "email"), tool("two", "mail")]
    assert.deepStrictEqual(search("mail", 5, tools), ["two", "one"])
    assert.deepStrictEqual(search("email", 5, tools), ["one", "two"])
  })

  it("weights a tool with all words higher than one with a rare word", () => {
    const tools = [
      tool("a", "rare thing"),
      tool("b", "common word"),
      ...Array.from({ length: 8 }, (_, at) => tool(`c${at}`, at % 2 === 0 ? "common" : "word"))
    ]
    assert.strictEqual(search("common word rare", 1, tools)[0], "b")
  })

  it("multiplies the score of a tool by its boost", () => {
    const index = makeToolIndex(["a", "b"].map((name) => tool(name, "mail")))
    assert.deepStrictEqual(
      index.search("mail", 5, (name) => (name === "b" ? 1.01 : 1)),
      ["b", "a"]
    )
  })

  it("uses only the first words of a long query", () => {
    const long = Array.from({ length: 100 }, (_, at) => `word${at}`).join(" ")
    assert.deepStrictEqual(search(`weather ${long}`, 5), ["lab__weather"])
    assert.deepStrictEqual(search(`${long} weather`, 5), [])
  })

  it("matches a prefix of a word", () => {
    assert.deepStrictEqual(search("weath", 5), ["lab__weather"])
    assert.deepStrictEqual(search("wea"), ["lab__weather"])
    assert.deepStrictEqual(search("we"), [])
  })

  it("finds a short word as a whole", () => {
    assert.deepStrictEqual(search("a", 5, [tool("one", "a"), tool("two", "ab")]), ["one"])
  })

  it("weights a whole word higher than the prefix of another one", () => {
    assert.deepStrictEqual(search("mail", 5, [tool("one", "mailbox"), tool("two", "mail")]), ["two", "one"])
  })

  it("splits names at digits and signs", () => {
    const tools = [tool("utf8Text", ""), tool("a--b__c", "")]
    assert.deepStrictEqual(search("text", 5, tools), ["utf8Text"])
    assert.deepStrictEqual(search("c", 5, tools), ["a--b__c"])
    assert.deepStrictEqual(search("utf8", 5, tools), ["utf8Text"])
  })

  it("weights a word higher in a short description than in a long one", () => {
    const tools = [tool("a", "mail with a description of many words"), tool("b", "mail")]
    assert.deepStrictEqual(search("mail", 5, tools), ["b", "a"])
  })

  it("weights different words higher than repetitions of one", () => {
    const tools = [
      tool("a", "mail mail mail mail mail mail"),
      tool("b", "mail box one two three four"),
      tool("c", "box")
    ]
    assert.strictEqual(search("mail box", 1, tools)[0], "b")
  })

  it("weights repetitions higher than a single word", () => {
    const tools = [tool("a", "mail one two three"), tool("b", "mail mail mail one")]
    assert.deepStrictEqual(search("mail", 5, tools), ["b", "a"])
  })

  it("sorts equal matches by name", () => {
    const tools = ["c", "a", "b"].map((name) => tool(name, "mail"))
    assert.deepStrictEqual(search("mail", 5, tools), ["a", "b", "c"])
  })

  it("weights a rare word higher than a common one", () => {
    assert.strictEqual(search("file mail", 1)[0], "lab__send_mail")
  })

  it("limits the results, and omits tools without a matching word", () => {
    assert.lengthOf(search("file", 2), 2)
    assert.deepStrictEqual(search("astrology", 5), [])
    assert.deepStrictEqual(search("", 5), [])
  })
})
