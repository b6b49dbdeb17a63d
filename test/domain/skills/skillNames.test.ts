import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import {
  formatSkillName,
  marketplaceSource,
  mcpSource,
  parseSkillName,
  serverSegment,
  type SkillName,
  userSource
} from "../../../src/domain/skills/skillNames.ts"

const nameSegment = Schema.String.check(Schema.isPattern(/^[a-z0-9]+(-[a-z0-9]+){0,3}$/), Schema.isMaxLength(64))
const names = Schema.Union([
  Schema.TaggedStruct("User", { skill: nameSegment }),
  Schema.TaggedStruct("Marketplace", { plugin: nameSegment, skill: nameSegment }),
  Schema.TaggedStruct("Mcp", {
    server: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,40}$/)),
    skill: nameSegment
  })
])

const isName = (text: string) => Result.isSuccess(parseSkillName(text))

describe("name of a skill", () => {
  it.prop("parses to the parts that it was formatted from", [names], ([name]) => {
    assert.deepStrictEqual(parseSkillName(formatSkillName(name)), Result.succeed<SkillName>(name))
  })

  it("has one segment for the user, two for a plugin and three for an MCP server", () => {
    assert.deepStrictEqual(
      ["pdf", "docs:pdf", "mcp:My_server-1:pdf"].map((text) => Result.getOrThrow(parseSkillName(text))),
      [
        { _tag: "User", skill: "pdf" },
        { _tag: "Marketplace", plugin: "docs", skill: "pdf" },
        { _tag: "Mcp", server: "My_server-1", skill: "pdf" }
      ]
    )
  })

  it.each([
    [
      "three segments without mcp at the beginning, and more than three",
      ["user:a:b", "MCP:a:b", "mcp:a:b:c", "mcp:a:b:"]
    ],
    ["empty segments", ["", ":", "a:", ":a", "mcp::a", "mcp:s:"]],
    ["capitals", ["Pdf", "a:B", "A:b", "mcp:s:B"]],
    ["other characters", ["p_df", "p.df", "p df", "pdf\n", "é", "a/b"]],
    ["hyphens at an end or in a row", ["-pdf", "pdf-", "p--df"]],
    ["characters of a server beyond letters, digits, _ and -", ["mcp:a.b:c", "mcp:a b:c", "mcp:é:c"]]
  ])("rejects %s", (_, texts) => {
    assert.deepStrictEqual(texts.filter(isName), [])
  })

  it("limits skills and plugins to 64 characters, but not servers", () => {
    const [fits, tooLong] = ["a".repeat(64), "a".repeat(65)]
    assert.deepStrictEqual(
      [fits, `${fits}:${fits}`, `mcp:${"S".repeat(300)}:${fits}`, tooLong, `${tooLong}:a`, `a:${tooLong}`].map(isName),
      [true, true, true, false, false, false]
    )
  })
})

describe("segment of a server", () => {
  it("keeps a bundle id", () => {
    assert.strictEqual(serverSegment("My_server-1"), "My_server-1")
  })

  it("replaces each other character by an underscore", () => {
    assert.strictEqual(serverSegment("@scope/my server.é😀"), "_scope_my_server___")
  })

  it.prop("is valid in the name of a skill", [Schema.NonEmptyString], ([id]) => {
    assert.isTrue(isName(`mcp:${serverSegment(id)}:a`))
  })
})

describe("source of a skill", () => {
  it("is user, a marketplace or an MCP server", () => {
    assert.deepStrictEqual(
      [userSource, marketplaceSource("tools"), mcpSource("alpha")],
      ["user", "marketplace:tools", "mcp:alpha"]
    )
  })
})
