/** Runs MCP's conformance suite, and compares what it finds with the known outcomes. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { assert } from "@effect/vitest"
import { Record } from "effect"
import { type Outcome, type Outcomes, outcomes, type Revision } from "./outcomes.ts"

const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js")

/** Runs the suite; resolves with its exit code and output. */
export const runSuite = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    const options = { timeout: 300_000, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1
      resolve({ code, output: stdout + stderr })
    })
  })

export type Side = keyof typeof outcomes

const namesIn = (list: string, pattern: RegExp) => [...list.matchAll(pattern)].map(([, name = ""]) => name).sort()

/** Fails when the suite lists other scenarios of a revision than there are outcomes of. */
export const assertComplete = async (side: Side, revision: Revision): Promise<void> => {
  const { output } = await runSuite("list", "--requirements", revision)
  const heading = side === "server" ? "Server" : "Client"
  const [, required = ""] = new RegExp(`^${heading} scenarios.*:\\n((?: {2}- .*\\n)+)`, "m").exec(output) ?? []
  const listed = {
    required: namesIn(required, /^ {2}- (\S+)$/gm),
    notRequired: namesIn(output, new RegExp(`^ {4}- (\\S+) \\[${side}\\]$`, "gm"))
  }
  const { notRequired, required: known } = outcomes[side][revision]
  assert.deepStrictEqual(listed, {
    required: Object.keys(known).sort(),
    notRequired: Object.keys(notRequired).sort()
  })
}

/** All scenarios of a revision with their outcomes. */
export const scenariosOf = ({ notRequired, required }: Outcomes): ReadonlyArray<readonly [string, Outcome]> =>
  Object.entries({ ...required, ...notRequired })

export const titleOf = (scenario: string, outcome: Outcome, revision: Revision): string =>
  `${outcome === "passes" ? "passes" : "fails only the known checks of"} ${scenario} of ${revision}`

/** A check as the suite writes it. */
export interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED"
  readonly errorMessage?: string
}

export const readChecks = (file: string) => JSON.parse(readFileSync(file, "utf8")) as ReadonlyArray<Check>

/** Fails when other checks fail or warn than those of the outcome. */
export const assertOutcome = (checks: ReadonlyArray<Check>, outcome: Outcome): void => {
  const idsOf = (status: Check["status"]) =>
    [...new Set(checks.flatMap((check) => (check.status === status ? [check.id] : [])))].sort()
  const { fails = [], warns = [] } = outcome === "passes" ? {} : outcome
  const reasons = checks.map(({ errorMessage = "", id, status }) => `${status} ${id}: ${errorMessage}`).join("\n")
  assert.isNotEmpty(checks, "it was not run")
  assert.deepStrictEqual(
    { fails: idsOf("FAILURE"), warns: idsOf("WARNING") },
    Record.map({ fails, warns }, (ids) => [...ids].sort()),
    reasons
  )
}
