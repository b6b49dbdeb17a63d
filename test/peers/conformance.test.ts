import { createRequire } from "node:module"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { ChildProcess } from "effect/process"
import { publishConformanceOffice } from "../fixtures/conformanceOffice.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { type ServerScenario, serverScenarios, serverWarnings } from "./serverScenarios.ts"

const require = createRequire(import.meta.url)
const suite = require.resolve("@modelcontextprotocol/conformance/dist/index.js")

interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED"
  readonly errorMessage?: string
}

type Checks = ReadonlyMap<string, ReadonlyArray<Check>>

/** The checks of every scenario, by revision. */
class Outcomes extends Context.Service<Outcomes, ReadonlyMap<string, Checks>>()("test/Outcomes") {}

/** Reads the checks of all scenarios, each of which has a folder with its name and its time. */
const readChecks = (folder: string): Checks =>
  new Map(
    readdirSync(folder).flatMap((name) => {
      const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? []
      const checks = JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8")) as ReadonlyArray<Check>
      return scenario === undefined ? [] : [[scenario, checks] as const]
    })
  )

/** Runs the scenarios that a revision requires, and those that are not scored, against an office. */
const runSuite = (revision: string) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const url = yield* publishConformanceOffice
    const args = [suite, "server", "--url", url, "--requirements", revision, "--output-dir", folder]
    const child = yield* ChildProcess.make(process.execPath, args, {
      extendEnv: true,
      stdout: "ignore",
      stderr: "inherit"
    })
    // It tells which scenarios fail; so do the checks.
    yield* child.exitCode
    return [revision, readChecks(folder)] as const
  }).pipe(Effect.scoped, Effect.orDie)

const outcomes = Effect.map(
  Effect.forEach(Object.keys(serverScenarios), runSuite, { concurrency: "unbounded" }),
  (runs) => new Map(runs)
)

const idsOf = (checks: ReadonlyArray<Check>, status: Check["status"]): ReadonlyArray<string> =>
  [...new Set(checks.flatMap((check) => (check.status === status ? [check.id] : [])))].sort()

const known = (row: ServerScenario = "passes"): ReadonlyArray<string> => (row === "passes" ? [] : [...row.fails].sort())

layer(Layer.effect(Outcomes, outcomes).pipe(Layer.provide(NodeServices.layer)), {
  excludeTestServices: true,
  timeout: "6 minutes"
})("MCP's conformance suite against a published office", (it) => {
  for (const [revision, scenarios] of Object.entries(serverScenarios)) {
    for (const [scenario, row] of Object.entries(scenarios)) {
      it.effect(`${row === "passes" ? "passes" : "fails only the known checks of"} ${scenario} at ${revision}`, () =>
        Effect.gen(function* () {
          const checks = (yield* Outcomes).get(revision)?.get(scenario) ?? []
          const reasons = checks.map(({ errorMessage, id }) => `${id}: ${errorMessage}`).join("\n")
          assert.isNotEmpty(checks, "it was not run")
          assert.deepStrictEqual(idsOf(checks, "FAILURE"), known(row), reasons)
          assert.deepStrictEqual(idsOf(checks, "WARNING"), known(serverWarnings[revision]?.[scenario]), reasons)
        })
      )
    }
    it.effect(`has a row for every scenario at ${revision}`, () =>
      Effect.gen(function* () {
        const run = (yield* Outcomes).get(revision) ?? new Map<string, unknown>()
        assert.deepStrictEqual([...run.keys()].sort(), Object.keys(scenarios).sort())
      })
    )
  }
})
