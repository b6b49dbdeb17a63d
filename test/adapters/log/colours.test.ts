import { assert, describe, it, vi } from "@effect/vitest"
import { makePaint } from "../../../src/adapters/log/colours.ts"
import { stripAnsi } from "../../../src/domain/text/escapeForTerminal.ts"

const terminal = { isTTY: true }
const pipe = {}

const isPainted = (stream: { readonly isTTY?: boolean }, variables: Readonly<Record<string, string>>): boolean => {
  for (const name of ["NO_COLOR", "FORCE_COLOR", "TERM"]) vi.stubEnv(name, variables[name])
  const text = makePaint(stream)("red", "a2c:")
  vi.unstubAllEnvs()
  assert.strictEqual(stripAnsi(text), "a2c:")
  return text !== "a2c:"
}

describe("colours", () => {
  for (const [what, stream, variables, expected] of [
    ["a terminal", terminal, {}, true],
    ["a terminal that understands no escape sequences", terminal, { TERM: "dumb" }, false],
    ["a terminal with NO_COLOR", terminal, { NO_COLOR: "1" }, false],
    ["a terminal with an empty NO_COLOR", terminal, { NO_COLOR: "" }, true],
    ["a terminal with FORCE_COLOR=0", terminal, { FORCE_COLOR: "0" }, false],
    ["a pipe", pipe, {}, false],
    ["a pipe with FORCE_COLOR", pipe, { FORCE_COLOR: "1" }, true],
    ["a pipe with both variables", pipe, { FORCE_COLOR: "1", NO_COLOR: "1" }, false]
  ] as const) {
    it(`${expected ? "are" : "are not"} written to ${what}`, () => {
      assert.strictEqual(isPainted(stream, variables), expected)
    })
  }
})
