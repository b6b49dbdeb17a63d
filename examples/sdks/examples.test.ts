import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = promisify(execFile)

/** The words that each example prints; an example without an entry fails. */
const expected: { readonly [example: string]: ReadonlyArray<string> } = {
  "aiSdk.ts": ["The sum of 2 and 3 is 5.", "It is five."],
  "anthropicTools.ts": ["The sum of 2 and 3 is 5.", "It is five."],
  "cedarPolicy.ts": [
    "plans/a.md: read_note: done",
    "drafts/a.md: write_note: done",
    "plans/a.md: Tool 'write_note' needs confirmation",
    "drafts/a.md: Tool 'write_note' was denied by this Computer: the office lab only reads"
  ],
  "langChain.ts": ["The sum of 2 and 3 is 5.", "It is five."],
  "mastra.ts": ["The sum of 2 and 3 is 5.", "It is five."],
  "openaiAgents.ts": ["The sum of 2 and 3 is 5.", "It is five."],
  "openaiWithEffect.ts": ["It is 21 °C in Vienna", "Leave your coat at home."]
}

describe("the example programs with other SDKs", () => {
  for (const example of readdirSync(import.meta.dirname).filter((name) => /^\w+\.ts$/.test(name))) {
    it(`prints the expected words from ${example}`, async () => {
      const { stdout } = await run(process.execPath, ["--conditions=a2c-source", `examples/sdks/${example}`])
      const words = expected[example]
      assert.isDefined(words)
      for (const word of words ?? []) assert.include(stdout, word)
    })
  }
})
