import { assert, describe, it } from "@effect/vitest"
import { CliOutput } from "effect/cli"
import { formatProgressLine } from "../../../../src/main/cli/output/callProgress.ts"

describe("the line of progress", () => {
  it("has the elapsed time before a tool reports progress", () => {
    assert.strictEqual(formatProgressLine(undefined, 3200, 80), "running, 3 s")
  })

  it("has a bar, the elapsed time and an estimate where the end is known", () => {
    assert.strictEqual(
      formatProgressLine({ progress: 5, total: 20, message: "reading" }, 10_000, 80),
      "█████░░░░░░░░░░░░░░░  5 of 20  10 s, about 30 s left  reading"
    )
  })

  it("has no estimate at the start and at the end", () => {
    assert.strictEqual(formatProgressLine({ progress: 0, total: 4 }, 0, 80), `${"░".repeat(20)}  0 of 4  0 ms`)
    assert.strictEqual(formatProgressLine({ progress: 4, total: 4 }, 9000, 80), `${"█".repeat(20)}  4 of 4  9 s`)
  })

  it.each([
    [{ progress: 7 }, "7  2 s"],
    [{ progress: 7, total: 0 }, "7 of 0  2 s"],
    [{ progress: -1, total: 4 }, `${"░".repeat(20)}  -1 of 4  2 s`],
    [{ progress: 9, total: 4 }, `${"█".repeat(20)}  9 of 4  2 s`]
  ])("takes any numbers of a tool: %o", (step, expected) => {
    assert.strictEqual(formatProgressLine(step, 2000, 80), expected)
  })

  it("is cut to the terminal, with foreign text escaped", () => {
    const line = formatProgressLine({ progress: 1, total: 2, message: `\u001b[2Jdone\n${"字".repeat(50)}` }, 1000, 60)
    assert.isAtMost(CliOutput.displayWidth(line), 60)
    assert.notInclude(line, "\u001b")
    assert.notInclude(line, "\n")
  })
})
