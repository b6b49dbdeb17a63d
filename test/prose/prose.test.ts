import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { listFiles } from "../listFiles.ts"
import { bannedNames, check, passagesOfCode, passagesOfDocument } from "./rules.ts"

const files = [
  ...["src", "test", "bench", "examples", "scripts", "docs"].flatMap(listFiles),
  "README.md",
  "site/home/index.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "REVIEW.md",
  "CHANGELOG.md",
  "README.zh-CN.md",
  "SECURITY.md",
  "CODE_OF_CONDUCT.md",
  "vitest.config.ts"
]

const rulesOf = (kind: "comment" | "title" | "string", text: string): ReadonlyArray<string> =>
  check({ file: "planted", line: 1, kind, text }).map(({ rule }) => rule)

describe("the prose of the project", () => {
  for (const extension of [".ts", ".tsx", ".md"]) {
    it(`follows the rules in ${extension} files`, { timeout: 180_000 }, () => {
      const findings = files
        .filter((file) => file.endsWith(extension))
        .flatMap((file) => {
          const text = readFileSync(file, "utf8")
          return (extension === ".md" ? passagesOfDocument : passagesOfCode)(file, text)
        })
        .flatMap(check)
        .map(({ file, line, rule, text }) => `${file}:${line} ${rule}: ${text}`)
      assert.deepStrictEqual(findings, [])
    })
  }
})

describe("the check of names", () => {
  it("finds no banned word in the project", { timeout: 180_000 }, () => {
    const found = files
      .filter((file) => /\.tsx?$/.test(file))
      .flatMap((file) => bannedNames(file, readFileSync(file, "utf8")).map((name) => `${file}: ${name}`))
    assert.deepStrictEqual(found, [])
  })

  it("finds banned words in declarations, members and types", () => {
    const words = ["to" + "ld", "he" + "ard"]
    assert.deepStrictEqual(
      bannedNames(
        "planted.ts",
        `const ${words[0]}By = 1; type T = { readonly has${"He" + "ard"}: ${"Ros" + "ter"} }; tolerate()`
      ),
      [`${words[0]}By`, `has${"He" + "ard"}`, "Ros" + "ter"]
    )
  })
})

describe("a prose rule", () => {
  it("finds a banned word in a comment", () =>
    assert.deepStrictEqual(rulesOf("comment", ["Some", "body waits."].join("")), [
      `avoid "${["Some", "body"].join("")}"`
    ]))

  it("finds a sentence that is too long", () =>
    assert.deepStrictEqual(rulesOf("comment", "word ".repeat(40)), ["40 words in a sentence"]))

  it("accepts two short sentences", () =>
    assert.deepStrictEqual(rulesOf("comment", `${"word ".repeat(20)}end. ${"word ".repeat(20)}end.`), []))

  it("finds a title that does not start with a verb", () =>
    assert.deepStrictEqual(rulesOf("title", "a second Agent in the office"), [
      "a title starts with a verb and has no full stop"
    ]))

  it("accepts the title of a conformance case", () =>
    assert.deepStrictEqual(rulesOf("title", "case 12: rejects a second Agent"), []))

  it("reads comments, strings and titles of a program", () => {
    const program = '// A comment.\nconst text = "two words"\nit("refuses a join", () => {})\n'
    assert.deepStrictEqual(
      passagesOfCode("planted.ts", program).map(({ kind, line, text }) => [kind, line, text]),
      [
        ["comment", 1, "A comment."],
        ["string", 2, "two words"],
        ["title", 3, "refuses a join"]
      ]
    )
  })

  it("skips the code of a document", () =>
    assert.deepStrictEqual(passagesOfDocument("planted.md", "A line.\n\n```sh\na2c server\n```\n").length, 1))
})
