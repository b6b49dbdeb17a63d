import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CliOutput } from "effect/cli"
import { formatColumns, formatFields } from "../../../../src/main/cli/output/format.ts"

const tools = [
  ["desk", "echo", "Echoes back the input string, word by word"],
  ["attic", "get-annotated-message", "Demonstrates how annotations can be used"]
]

const widthsOf = (text: string): ReadonlyArray<number> => text.split("\n").map(CliOutput.displayWidth)

describe("a table", () => {
  it("has whole cells without a terminal", () => {
    assert.strictEqual(
      formatColumns(tools),
      "desk   echo                   Echoes back the input string, word by word\n" +
        "attic  get-annotated-message  Demonstrates how annotations can be used"
    )
  })

  it("cuts descriptions before names", () => {
    assert.strictEqual(
      formatColumns(tools, "", 50),
      "desk   echo                   Echoes back the inp…\nattic  get-annotated-message  Demonstrates how an…"
    )
  })

  it("cuts the widest names on a narrow terminal", () => {
    assert.strictEqual(
      formatColumns(tools, "", 40),
      "desk   echo             Echoes back the…\nattic  get-annotated-…  Demonstrates ho…"
    )
  })

  it("aligns characters that take two columns", () => {
    assert.strictEqual(
      formatColumns([
        ["温度", "desk"],
        ["fan", "attic"]
      ]),
      "温度  desk\nfan   attic"
    )
  })

  it.prop(
    "fits a terminal",
    [Schema.NonEmptyArray(Schema.Tuple([Schema.String, Schema.String, Schema.String])), Schema.Natural],
    ([cells, number]) => {
      const columns = 20 + (number % 100)
      assert.isAtMost(Math.max(...widthsOf(formatColumns(cells, "", columns))), columns)
    }
  )
})

const fields = [
  ["id", "a1"],
  ["asked by", "the policy of the Computer: a rule asks for every call of this tool"]
]

describe("a list of values", () => {
  it("has a line for each without a terminal", () => {
    assert.strictEqual(
      formatFields(fields),
      "id        a1\nasked by  the policy of the Computer: a rule asks for every call of this tool"
    )
  })

  it("breaks values between words, to the right of their names", () => {
    assert.strictEqual(
      formatFields(fields, 40),
      "id        a1\nasked by  the policy of the Computer: a\n          rule asks for every call of\n          this tool"
    )
  })

  it("puts values below their names on a narrow terminal", () => {
    assert.strictEqual(
      formatFields(fields, 28),
      "id\n    a1\nasked by\n    the policy of the\n    Computer: a rule asks\n    for every call of this\n    tool"
    )
  })
})
