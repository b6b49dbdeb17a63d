import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { maxFrontMatterBytes, parseSkillManifest, splitFrontMatter } from "../../../src/domain/skills/frontMatter.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"

/** The YAML text and the content of a file. */
const split = (text: string) => {
  const bytes = encodeUtf8(text)
  const { contentOffset, yaml } = splitFrontMatter(bytes)
  return { yaml, content: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(contentOffset)) }
}

describe("front matter", () => {
  it.each([
    ["ends with the second line of three dashes", "---\nname: a\n---\n# A\n---\n", "name: a\n", "# A\n---\n"],
    ["keeps blank lines at the beginning of the content", "---\nname: a\n---\n\n# A", "name: a\n", "\n# A"],
    [
      "allows Windows line breaks, a byte order mark and blanks after the dashes",
      "\u{feff}--- \r\nname: a\r\n---\t\r\n# A\r\n",
      "name: a\r\n",
      "# A\r\n"
    ],
    ["is allowed to be empty", "---\n---\nx", "", "x"],
    ["is allowed to end with the file", "---\nname: a\n---", "name: a\n", ""]
  ])("%s", (_, text, yaml, content) => {
    assert.deepStrictEqual(split(text), { yaml, content })
  })

  it("is missing without both lines, which have three dashes only", () => {
    const texts = ["", "# A", "---", "---\nname: a\n", "----\na: 1\n---\n", "\n---\na: 1\n---\n", "--- a\nb: 1\n---\n"]
    for (const content of texts) assert.deepStrictEqual(split(content), { yaml: undefined, content })
    assert.strictEqual(split("---\na: 1\n ---\n----\n").yaml, undefined)
  })

  it("is content when it is longer than the limit", () => {
    const file = (length: number) => `---\n${"a".repeat(length - 8)}\n---`
    assert.strictEqual(splitFrontMatter(encodeUtf8(file(maxFrontMatterBytes))).contentOffset, maxFrontMatterBytes)
    const longest = file(maxFrontMatterBytes)
    for (const text of [file(maxFrontMatterBytes + 1), `${longest}x`, `${longest}\n`])
      assert.strictEqual(splitFrontMatter(encodeUtf8(text)).contentOffset, 0)
  })

  it.prop(
    "leaves every other byte to the content",
    [Schema.Array(Schema.String.check(Schema.isPattern(/^[a-z: ]{0,9}$/))), Schema.Uint8Array],
    ([lines, content]) => {
      const head = encodeUtf8(`---\n${lines.map((line) => `${line}\n`).join("")}---\n`)
      const bytes = new Uint8Array([...head, ...content])
      assert.deepStrictEqual(bytes.subarray(splitFrontMatter(bytes).contentOffset), content)
    }
  )
})

const required = { name: "pdf", description: "Reads PDF." }

describe("manifest of a skill", () => {
  it("has the members of the front matter", () => {
    const same = {
      ...required,
      license: "MIT",
      compatibility: "needs Python",
      metadata: { author: "me" },
      tags: ["office"]
    }
    const allowedTools = ["Read", "Bash(git add:*)"]
    const others = { "allowed-tools": allowedTools, model: "unknown members are ignored" }
    assert.deepStrictEqual(parseSkillManifest({ ...same, ...others }), Result.succeed({ ...same, allowedTools }))
  })

  it("splits lists in texts at commas and white space, but not in parentheses", () => {
    const manifest = parseSkillManifest({ ...required, "allowed-tools": "Read, Bash(git add:*)  Grep,", tags: "a b" })
    assert.deepStrictEqual(
      manifest,
      Result.succeed({ ...required, allowedTools: ["Read", "Bash(git add:*)", "Grep"], tags: ["a", "b"] })
    )
  })

  it("splits a long text of parentheses at once", () => {
    assert.isTrue(Result.isSuccess(parseSkillManifest({ ...required, "allowed-tools": "(".repeat(1_000_000) })))
  })

  it("ignores optional members of another type", () => {
    const odd = { license: 1, compatibility: [], "allowed-tools": [1], metadata: "m", tags: null }
    assert.deepStrictEqual(parseSkillManifest({ ...required, ...odd }), Result.succeed(required))
  })

  it("is rejected without name and description", () => {
    const values = [{ description: "d" }, { name: "", description: "d" }, { name: "n" }, { name: 1, description: "d" }]
    for (const value of values) assert.isTrue(Result.isFailure(parseSkillManifest(value)))
    const blank = parseSkillManifest({ name: "n", description: " " })
    assert.deepStrictEqual(blank, Result.fail("the front matter has no description"))
  })

  it("is rejected unless it is an object that a message can carry", () => {
    const polluting = JSON.parse(`{"name":"n","description":"d","metadata":{"__proto__":{}}}`) as unknown
    for (const value of [null, "text", [], polluting]) assert.isTrue(Result.isFailure(parseSkillManifest(value)))
  })
})
