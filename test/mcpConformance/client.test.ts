import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { listenForScenarios } from "./conformanceClient.ts"
import { outcomes, type Revision, revisions } from "./outcomes.ts"
import { assertComplete, assertOutcome, readChecks, runSuite, scenariosOf, titleOf } from "./suite.ts"

const relay = fileURLToPath(new URL("conformanceRelay.ts", import.meta.url))

/** Scenarios with real times of the suite's own: a busy machine may exceed them. */
const timed = ["sse-retry"]

const results = await mkdtemp(join(tmpdir(), "a2c-conformance-"))

/** Runs one scenario, and reads its checks. */
const judge = async (relayUrl: string, scenario: string, revision: Revision) => {
  const folder = await mkdtemp(join(results, "run-"))
  const command = `${process.execPath} ${relay} ${relayUrl}`
  const which = ["--scenario", scenario, "--spec-version", revision, "--force"]
  const { output } = await runSuite("client", "--command", command, ...which, "--timeout", "90000", "-o", folder)
  const file = (await readdir(folder, { recursive: true })).find((name) => name.endsWith("checks.json"))
  if (file === undefined) throw new Error(`the suite wrote no checks: ${output}`)
  return readChecks(join(folder, file))
}

describe("MCP's conformance suite against the MCP client of a Computer", () => {
  const configHome = process.env["XDG_CONFIG_HOME"]
  let listener: Awaited<ReturnType<typeof listenForScenarios>>
  beforeAll(async () => {
    // The Computers keep their tokens here.
    process.env["XDG_CONFIG_HOME"] = results
    listener = await listenForScenarios()
  })
  afterAll(async () => {
    listener[Symbol.dispose]()
    if (configHome === undefined) delete process.env["XDG_CONFIG_HOME"]
    else process.env["XDG_CONFIG_HOME"] = configHome
    await rm(results, { recursive: true, force: true })
  })

  for (const revision of revisions) {
    it(`knows an outcome of each scenario of ${revision}`, () => assertComplete("client", revision))
    for (const [scenario, outcome] of scenariosOf(outcomes.client[revision])) {
      it(titleOf(scenario, outcome, revision), { retry: timed.includes(scenario) ? 3 : 0 }, async () => {
        assertOutcome(await judge(listener.url, scenario, revision), outcome)
      })
    }
  }
})
