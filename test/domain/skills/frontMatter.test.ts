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
  it("ends with the second line of three dashes", () => {
    assert.deepStrictEqual(split("---\nname: a\n---\n# A\n---\n"), { yaml: "name: a\n", content: "# A\n---\n" })
  })

  it("keeps blank lines at the beginning of the content", () => {
    assert.deepStrictEqual(split("---\nname: a\n---\n\n# A"), { yaml: "name: a\n", content: "\n# A" })
  })

  it("allows Windows line breaks, a byte order mark and blanks after the dashes", () => {
    assert.deepStrictEqual(split("\u{feff}--- \r\nname: a\r\n---\t\r\n# A\r\n"), {
      yaml: "name: a\r\n",
      content: "# A\r\n"
    })
  })

  it("is allowed to be empty, and to end with the file", () => {
    assert.deepStrictEqual(["---\n---\nx", "---\nname: a\n---"].map(split), [
      { yaml: "", content: "x" },
      { yaml: "name: a\n", content: "" }
    ])
  })

  it("is missing without both lines, which have three dashes only", () => {
    const texts = ["", "# A", "---", "---\nname: a\n", "----\na: 1\n---\n", "\n---\na: 1\n---\n", "--- a\nb: 1\n---\n"]
    assert.deepStrictEqual(
      texts.map(split),
      texts.map((content) => ({ yaml: undefined, content }))
    )
    assert.strictEqual(split("---\na: 1\n ---\n----\n").yaml, undefined)
  })

  it("is content when it is longer than the limit", () => {
    const file = (length: number) => `---\n${"a".repeat(length - 8)}\n---`
    assert.strictEqual(splitFrontMatter(encodeUtf8(file(maxFrontMatterBytes))).contentOffset, maxFrontMatterBytes)
    for (const text of [
      file(maxFrontMatterBytes + 1),
      `${file(maxFrontMatterBytes)}x`,
      `${file(maxFrontMatterBytes)}\n`
    ]) {
      assert.strictEqual(splitFrontMatter(encodeUtf8(text)).contentOffset, 0)
    }
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
    const manifest = parseSkillManifest({
      ...required,
      license: "MIT",
      compatibility: "needs Python",
      "allowed-tools": ["Read", "Bash(git add:*)"],
      metadata: { author: "me" },
      tags: ["office"],
      model: "unknown members are ignored"
    })
    assert.deepStrictEqual(
      manifest,
      Result.succeed({
        ...required,
        license: "MIT",
        compatibility: "needs Python",
        allowedTools: ["Read", "Bash(git add:*)"],
        metadata: { author: "me" },
        tags: ["office"]
      })
    )
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
    const manifest = parseSkillManifest({
      ...required,
      license: 1,
      compatibility: [],
      "allowed-tools": [1],
      metadata: "m",
      tags: null
    })
    assert.deepStrictEqual(manifest, Result.succeed(required))
  })

  it("is rejected without name and description", () => {
    const values = [{ description: "d" }, { name: "", description: "d" }, { name: "n" }, { name: 1, description: "d" }]
    assert.deepStrictEqual(
      values.map((value) => Result.getOrUndefined(parseSkillManifest(value))),
      values.map(() => undefined)
    )
    assert.deepStrictEqual(
      parseSkillManifest({ name: "n", description: " " }),
      Result.fail("the front matter has no description")
    )
  })

  it("is rejected unless it is an object that a message can carry", () => {
    const polluting = JSON.parse(`{"name":"n","description":"d","metadata":{"__proto__":{}}}`) as unknown
    assert.deepStrictEqual(
      [null, "text", [], polluting].map((value) => Result.isFailure(parseSkillManifest(value))),
      [true, true, true, true]
    )
  })
})
