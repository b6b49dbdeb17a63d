import { readdirSync } from "node:fs"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { temporaryFolder } from "../temporaryFolder.ts"
import { publishConformanceOffice } from "./conformanceOffice.ts"
import { outcomes, type Revision, revisions } from "./outcomes.ts"
import { assertComplete, assertOutcome, type Check, readChecks, runSuite, scenariosOf, titleOf } from "./suite.ts"

type Checks = ReadonlyMap<string, ReadonlyArray<Check>>

/** The checks of every scenario, by revision. */
class Found extends Context.Service<Found, ReadonlyMap<Revision, Checks>>()("test/Found") {}

/** Reads the checks of all scenarios, each of which has a folder with its name and its time. */
const readAllChecks = (folder: string): Checks =>
  new Map(
    readdirSync(folder).flatMap((name) => {
      const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? []
      return scenario === undefined ? [] : [[scenario, readChecks(join(folder, name, "checks.json"))] as const]
    })
  )

/** Runs the scenarios of a revision against an office. The exit code tells whether some fail; so do the checks. */
const judge = (revision: Revision) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const url = yield* publishConformanceOffice
    const args = ["--url", url, "--requirements", revision, "--output-dir", folder]
    yield* Effect.promise(() => runSuite("server", ...args))
    return [revision, readAllChecks(folder)] as const
  }).pipe(Effect.scoped, Effect.orDie)

const found = Effect.map(Effect.forEach(revisions, judge, { concurrency: "unbounded" }), (runs) => new Map(runs))

layer(Layer.effect(Found, found).pipe(Layer.provide(NodeServices.layer)), {
  excludeTestServices: true,
  timeout: "6 minutes"
})("MCP's conformance suite against a published office", (it) => {
  for (const revision of revisions) {
    it.effect(`knows an outcome of each scenario of ${revision}`, () =>
      Effect.promise(() => assertComplete("server", revision))
    )
    for (const [scenario, outcome] of scenariosOf(outcomes.server[revision])) {
      it.effect(titleOf(scenario, outcome, revision), () =>
        Effect.map(Found, (runs) => assertOutcome(runs.get(revision)?.get(scenario) ?? [], outcome))
      )
    }
  }
})
