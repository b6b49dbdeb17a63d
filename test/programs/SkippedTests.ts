import type { Reporter, TestModule } from "vitest/node"
import { programs } from "./installPrograms.ts"
import { locate } from "./Program.ts"

/** Counts the tests of a file that were skipped. */
const skippedIn = (module: TestModule): number => [...module.children.allTests("skipped")].length

/**
 * Ends a run with one line that names the files with skipped tests, and what they need. With `A2C_TEST_STRICT=1` such a run
 * fails.
 */
export class SkippedTests implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    // A name pattern skips the tests that do not match it.
    if (modules.some(({ project }) => project.vitest.config.testNamePattern !== undefined)) return
    const skipped = modules.flatMap((module) => {
      const count = skippedIn(module)
      return count === 0 ? [] : [`${module.relativeModuleId} (${count})`]
    })
    if (skipped.length === 0) return
    const missing = programs.filter((program) => locate(program) === undefined)
    const needs = missing.map(({ advice, name }) => `. ${name} is missing (${advice})`)
    const isStrict = process.env["A2C_TEST_STRICT"] === "1"
    if (isStrict) process.exitCode = 1
    process.stdout.write(
      `${isStrict ? "failed, since tests were skipped" : "skipped tests"}: ${skipped.join(", ")}${needs.join("")}\n`
    )
  }
}
