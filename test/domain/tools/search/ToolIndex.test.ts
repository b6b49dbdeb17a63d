import { assert, describe, it } from "@effect/vitest"
import { makeToolIndex } from "../../../../src/domain/tools/search/ToolIndex.ts"
import type { Tool } from "../../../../src/domain/model/Tool.ts"

const tool = (name: string, description = "", more: Partial<Tool> = {}): readonly [string, Tool] => [
  name,
  { name, description, paramsSchema: {}, returnSchema: null, meta: {}, ...more }
]

const office = [
  tool("desk__read_file", "Reads a file of the disk"),
  tool("desk__writeFile", "Writes text to a place", { paramsSchema: { properties: { path: {}, encoding: {} } } }),
  tool("lab__weather", "Tells what the sky will do", {
    meta: { a2c_tool_meta: JSON.stringify({ tags: ["forecast"] }) }
  }),
  tool("lab__send_mail", "Sends a letter about a file, a file or a file")
]

const withParameter = [
  tool("one", "", { paramsSchema: { properties: { a: { description: "Time zone of the city" }, b: true } } }),
  tool("two")
]
const values = { kind: { enum: ["hourly", "daily", 7] }, unit: { enum: "none" }, at: null }
const withValues = [tool("one", "", { paramsSchema: { properties: values } }), tool("two", "7")]
const chinese = [tool("one", "根据城市查询天气预报"), tool("two", "查询列车时刻表")]
const longTool = tool("one", `mail ${"x ".repeat(1000)} late`)
const synonyms = [tool("one", "email"), tool("two", "mail")]
const manyWords = Array.from({ length: 100 }, (_, at) => `word${at}`).join(" ")

const search = (query: string, limit = 5, tools = office) => makeToolIndex(tools).search(query, limit)

describe("ToolIndex", () => {
  it.each<[fact: string, query: string, names: ReadonlyArray<string>, tools?: typeof office]>([
    ["splits names at digits", "text", ["utf8Text"], [tool("utf8Text"), tool("a--b__c")]],
    ["keeps letters and digits of a name together", "utf8", ["utf8Text"], [tool("utf8Text"), tool("a--b__c")]],
    ["splits names at signs", "c", ["a--b__c"], [tool("utf8Text"), tool("a--b__c")]],
    ["searches tags", "forecast", ["lab__weather"]],
    ["searches parameters", "encoding", ["desk__writeFile"]],
    ["searches the descriptions of parameters", "zone", ["one"], withParameter],
    ["searches the descriptions of parameters to their end", "city", ["one"], withParameter],
    ["searches the values of parameters", "daily", ["one"], withValues],
    ["does not search values that are not texts", "7 none", ["two"], withValues],
    ["searches Chinese inside of a sentence", "明天的天气怎么样", ["one"], chinese],
    ["ranks by the shared characters of Chinese", "查询列车", ["two", "one"], chinese],
    [
      "searches the whole name of a tool whose exposed name is shortened",
      "pipeline",
      ["desk__run_1a2b3c4d"],
      [tool("desk__run_1a2b3c4d", "", { name: "run_pipeline" })]
    ],
    ["searches the beginning of a long description", "mail", ["one"], [longTool]],
    ["does not search the end of a long description", "late", [], [longTool]],
    ["finds plurals", "letters", ["lab__send_mail"]],
    ["finds singulars", "branch", ["one"], [tool("one", "all branches")]],
    ["finds synonyms, and weights them lower than the word", "mail", ["two", "one"], synonyms],
    ["finds synonyms in both directions", "email", ["one", "two"], synonyms],
    ["matches a prefix of a word", "weath", ["lab__weather"]],
    ["matches a prefix of three letters", "wea", ["lab__weather"]],
    ["matches no prefix of two letters", "we", []],
    ["finds a short word as a whole", "a", ["one"], [tool("one", "a"), tool("two", "ab")]],
    ["weights a word higher than a prefix", "mail", ["two", "one"], [tool("one", "mailbox"), tool("two", "mail")]],
    [
      "weights a word higher in a short description than in a long one",
      "mail",
      ["b", "a"],
      [tool("a", "mail with a description of many words"), tool("b", "mail")]
    ],
    [
      "weights repetitions higher than a single word",
      "mail",
      ["b", "a"],
      [tool("a", "mail one two three"), tool("b", "mail mail mail one")]
    ],
    ["sorts equal matches by name", "mail", ["a", "b", "c"], ["c", "a", "b"].map((name) => tool(name, "mail"))],
    ["uses the first words of a long query", `weather ${manyWords}`, ["lab__weather"]],
    ["ignores the last words of a long query", `${manyWords} weather`, []],
    ["omits tools without a matching word", "astrology", []],
    ["finds nothing without a word", "", []]
  ])("%s", (_, query, names, tools) => {
    assert.deepStrictEqual(search(query, 5, tools), names)
  })

  it.each<[fact: string, query: string, name: string, tools?: typeof office]>([
    ["a word in the name higher than repetitions in the description", "file", "desk__read_file"],
    ["a part of a name in camel case like a word", "write", "desk__writeFile"],
    ["a rare word higher than a common one", "file mail", "lab__send_mail"],
    [
      "a tool with all words higher than one with a rare word",
      "common word rare",
      "b",
      [
        tool("a", "rare thing"),
        tool("b", "common word"),
        ...Array.from({ length: 8 }, (_, at) => tool(`c${at}`, at % 2 === 0 ? "common" : "word"))
      ]
    ],
    [
      "different words higher than repetitions of one",
      "mail box",
      "b",
      [tool("a", "mail mail mail mail mail mail"), tool("b", "mail box one two three four"), tool("c", "box")]
    ]
  ])("weights %s", (_, query, name, tools) => {
    assert.deepStrictEqual(search(query, 1, tools), [name])
  })

  it("multiplies the score of a tool by its boost", () => {
    const index = makeToolIndex(["a", "b"].map((name) => tool(name, "mail")))
    const boosted = index.search("mail", 5, (name) => (name === "b" ? 1.01 : 1))
    assert.deepStrictEqual(boosted, ["b", "a"])
  })

  it("limits the results", () => {
    assert.lengthOf(search("file", 2), 2)
  })
})
