import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { redactText } from "../../../src/adapters/log/redact.ts"

/** The sentences that follow one of these names in the sources: what the log may show, without values. */
const sentences = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .flatMap((name) => {
    const text = readFileSync(join("src", name), "utf8")
    const calls = /\b(?:log\w+|sessionError|protocolFailure|failCommand|message:)\(?\s*(?:"\w+",\s*)?["`]([^"`]+)["`]/g
    return [...text.matchAll(calls)].map(([, sentence = ""]) => sentence)
  })

describe("redaction", () => {
  it("leaves the words of this project as they are", () => {
    assert.isAtLeast(sentences.length, 300)
    assert.deepStrictEqual(
      sentences.filter((sentence) => redactText(sentence) !== sentence),
      []
    )
  })
})
