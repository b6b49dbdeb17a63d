import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = promisify(execFile)

/** What every example prints; one that is missing here fails. */
const expected: { readonly [example: string]: ReadonlyArray<string> } = {
  "domainOnly.ts": ["true", "src/main", "window://com.example.web?fullscreen=1"],
  "host.ts": ["entities"],
  "virtualTime.ts": ["after 29 minutes: asleep", "after 30 minutes: rested"]
}

describe("examples", () => {
  for (const example of readdirSync("examples")) {
    it(`${example} does what it says`, { timeout: 60_000 }, async () => {
      const { stdout } = await run(process.execPath, ["--conditions=a2c-source", `examples/${example}`])
      const words = expected[example]
      assert.isDefined(words)
      for (const word of words ?? []) assert.include(stdout, word)
    })
  }
})
