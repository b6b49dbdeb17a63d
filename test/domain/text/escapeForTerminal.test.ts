import { assert, describe, it } from "@effect/vitest"
import { escapeForTerminal, escapeLinesForTerminal } from "../../../src/domain/text/escapeForTerminal.ts"

describe("escapeForTerminal", () => {
  it.each([
    ["escape sequences", "\u001b[31m\u009b2J\u0007\u007f", String.raw`\u001b[31m\u009b2J\u0007\u007f`],
    ["line breaks and tabs", "a\r\nb\tc\u2028d\u2029\u0085", String.raw`a\r\nb\tc\u2028d\u2029\u0085`],
    ["bidirectional controls", "\u202e\u2066\u200f\u061c", String.raw`\u202e\u2066\u200f\u061c`],
    ["invisible characters", "\u200b\u00ad\ufeff\u3164\ufff9", String.raw`\u200b\u00ad\ufeff\u3164\ufff9`],
    ["tags and lone surrogates", "\u{e0041}\ud800", String.raw`\udb40\udc41\ud800`],
    ["joiners and selectors outside of emoji", "x\u200dy\ufe0f", String.raw`x\u200dy\ufe0f`]
  ])("escapes %s", (_kind, text, escaped) => {
    assert.strictEqual(escapeForTerminal(text), escaped)
  })

  it.each(["plain text", "\u00fc\u6f22\u05d0\u0627", "👨‍👩‍👧 ❤️ 1️⃣ 🏳️‍🌈 👍🏽"])("keeps %s", (text) => {
    assert.strictEqual(escapeForTerminal(text), text)
  })

  it("leaves the meaning of JSON unchanged", () => {
    const value = { "a\u009b": ["\u202e\u{e0041}\ud800\u2028", "❤️"] }
    const json = escapeForTerminal(JSON.stringify(value))
    assert.deepStrictEqual(JSON.parse(json), value)
    assert.match(json, /^[\P{C}]*$/u)
  })
})

describe("escapeLinesForTerminal", () => {
  it("keeps line breaks and tabs and nothing else that moves the cursor", () => {
    assert.strictEqual(escapeLinesForTerminal("a\r\nb\tc\rd\u000be\n"), `a\nb\tc${String.raw`\rd\u000be`}\n`)
  })
})
