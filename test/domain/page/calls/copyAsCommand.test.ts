import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parseJson } from "../../../../src/domain/json.ts"
import { connectionFlags, copyAsCommand } from "../../../../src/domain/page/calls/callPhase.ts"
import { makeCall } from "../../../page/scripted/pageFixtures.ts"

describe("copyAsCommand", () => {
  it("states office, line, tool, Computer and arguments", () => {
    assert.strictEqual(
      copyAsCommand(makeCall(), [], { message: "it's" }),
      `a2c agent --office team --protocol 0.2 call --computer desk echo '{"message":"it'\\''s"}'`
    )
  })

  it("states how it connects", () => {
    const connection = connectionFlags("https://a2c.example.org/a/smcp", true)
    assert.strictEqual(
      copyAsCommand(makeCall(), connection, {}),
      "a2c agent --server https://a2c.example.org/a/smcp --token-file FILE --office team --protocol 0.2 call --computer desk echo '{}'"
    )
    assert.deepStrictEqual(connectionFlags("http://127.0.0.1:7070", false), [])
  })

  it("leaves out arguments that are not known", () => {
    assert.strictEqual(
      copyAsCommand(makeCall(), []),
      "a2c agent --office team --protocol 0.2 call --computer desk echo"
    )
  })

  it("keeps names that look like flags apart from flags", () => {
    assert.strictEqual(
      copyAsCommand(makeCall({ tool: "--help", office: "-x", computer: "-y" }), [], {}),
      "a2c agent --office=-x --protocol 0.2 call --computer=-y -- --help '{}'"
    )
  })

  it("escapes control characters, which could end the paste of a terminal", () => {
    const command = copyAsCommand(makeCall({ tool: "a\u001b[201~\nrm", office: "\u202e" }), [], { "\u0007": "\u2028" })
    // oxlint-disable-next-line no-control-regex -- the characters that must be absent
    assert.notMatch(command, /[\u0000-\u001f\u007f-\u009f\u200b-\u202e]/)
  })

  it("gives a shell the same words", () => {
    const words = ["it's", 'a"b', "$HOME", "`id`", "a\\b", "a b", "!x", "ü電", "tab\t", "line\nbreak", "'\u001b'", ""]
    for (const word of words) {
      const command = copyAsCommand(makeCall({ office: word, tool: "t" }), [], { [word]: word })
      const script = command.replace(/^a2c agent/, "printf '%s\\0'")
      const [, office, , , , , , , params] = execFileSync("bash", ["-c", script], { encoding: "utf8" }).split("\0")
      assert.strictEqual(office, word)
      assert.deepStrictEqual(parseJson(params ?? ""), { [word]: word })
    }
  })

  it.prop("writes one line for any name", [Schema.String, Schema.String], ([tool, office]) => {
    assert.notMatch(copyAsCommand(makeCall({ tool, office }), [], { tool }), /[\n\r\u2028\u2029]/)
  })
})
