import { execFile } from "node:child_process"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { clientScenarios } from "./clientScenarios.ts"
import { listenForScenarios } from "./conformanceClient.ts"

const suite = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js")
const relay = fileURLToPath(new URL("../fixtures/conformanceRelay.ts", import.meta.url))

/** Runs the suite; resolves with its exit code and output. */
const runSuite = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    const options = { timeout: 120_000, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, [suite, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1
      resolve({ code, output: stdout + stderr })
    })
  })

/** The client scenarios that the suite lists for a revision: those that it scores, and the others. */
const listScenarios = async (revision: string): Promise<ReadonlyArray<string>> => {
  const { output } = await runSuite("list", "--requirements", revision)
  const [, scored = ""] = /^Client scenarios.*:\n((?: {2}- .*\n)+)/m.exec(output) ?? []
  const others = [...output.matchAll(/^ {4}- (\S+) \[client\]$/gm)]
  return [...scored.matchAll(/^ {2}- (\S+)$/gm), ...others].map(([, name = ""]) => name)
}

interface Check {
  readonly id: string
  readonly status: string
}

/** Warnings fail a scenario, as in the suite. */
const isFailed = ({ status }: Check): boolean => status === "FAILURE" || status === "WARNING"

const results = await mkdtemp(join(tmpdir(), "a2c-conformance-"))

/** Runs one scenario; gives the checks that failed, and the output of the suite. */
const judge = async (relayUrl: string, scenario: string, revision: string) => {
  const folder = await mkdtemp(join(results, "run-"))
  const command = `${process.execPath} ${relay} ${relayUrl}`
  const which = ["--scenario", scenario, "--spec-version", revision, "--force"]
  const { code, output } = await runSuite("client", "--command", command, ...which, "--timeout", "90000", "-o", folder)
  const file = (await readdir(folder, { recursive: true })).find((name) => name.endsWith("checks.json"))
  if (file === undefined) throw new Error(`the suite wrote no checks: ${output}`)
  const checks = JSON.parse(await readFile(join(folder, file), "utf8")) as ReadonlyArray<Check>
  const failed = new Set(checks.filter(isFailed).map(({ id }) => id))
  return { code, count: checks.length, failed: [...failed].sort(), output }
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

  for (const [revision, scenarios] of Object.entries(clientScenarios)) {
    it(`lists the scenarios of ${revision} that have a row, and no others`, async () => {
      assert.deepStrictEqual([...(await listScenarios(revision))].sort(), Object.keys(scenarios).sort())
    })
    for (const [scenario, outcome] of Object.entries(scenarios)) {
      const title = outcome === "passes" ? `passes ${scenario}` : `fails the known checks of ${scenario}`
      // The suite measures in real time when the client reconnects.
      const retry = scenario === "sse-retry" ? 3 : 0
      it(`${title} of ${revision}`, { retry }, async () => {
        const { code, count, failed, output } = await judge(listener.url, scenario, revision)
        assert.deepStrictEqual(failed, outcome === "passes" ? [] : outcome.fails, output)
        assert.strictEqual(code, outcome === "passes" ? 0 : 1, output)
        assert.isAbove(count, 0)
      })
    }
  }
})
