import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = promisify(execFile)

/** What every example prints; one that is missing here fails. */
const expected: { readonly [example: string]: ReadonlyArray<string> } = {
  "aiSdk.ts": ["It is 21 °C in Vienna", "Leave your coat at home."],
  "anthropicTools.ts": ["It is 21 °C in Vienna", "Leave your coat at home."],
  "devices.ts": ["balcony__temperature", "It is 21 °C in Vienna"],
  "domainInWorker.ts": ["window://com.example.web?fullscreen=1", "All is well"],
  "domainOnly.ts": ["true", "src/main", "window://com.example.web?fullscreen=1"],
  "host.ts": ["desk", "entities"],
  "officeForHosts.ts": ["desk__temperature", "tools_search", "It is 21 °C in Vienna"],
  "openaiAgents.ts": ["It is 21 °C in Vienna", "Leave your coat at home."],
  "pageAgent.ts": ["desk", "entities"],
  "promiseAgent.ts": ["entities", "ambiguous_tool", "Computers: desk"],
  "virtualTime.ts": ["after 29 minutes: asleep", "after 30 minutes: rested"]
}

describe("examples", () => {
  // What several examples share stands in a folder beside them.
  for (const example of readdirSync("examples").filter((name) => name.endsWith(".ts"))) {
    it(`${example} does what it says`, { timeout: 60_000 }, async () => {
      const { stdout } = await run(process.execPath, ["--conditions=a2c-source", `examples/${example}`])
      const words = expected[example]
      assert.isDefined(words)
      for (const word of words ?? []) assert.include(stdout, word)
    })
  }
})
