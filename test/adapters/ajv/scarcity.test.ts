import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const program = join(import.meta.dirname, "..", "..", "fixtures", "scarceDescriptors.ts")

/** The output of a process without free file descriptors. Fails when the process dies. */
const runWithoutDescriptors = (...args: ReadonlyArray<string>): ReadonlyArray<string> =>
  execFileSync("/bin/sh", ["-c", 'ulimit -n 64 && exec "$0" "$@"', process.execPath, program, ...args], {
    encoding: "utf8",
    timeout: 120_000,
    killSignal: "SIGKILL"
  })
    .trim()
    .split("\n")

describe("AjvValidator without file descriptors", () => {
  it("rejects an expensive schema and stays usable", () => {
    assert.deepStrictEqual(runWithoutDescriptors(), ["schema worker failed to start: EMFILE", "1"])
  })

  it("keeps validating with a running worker", () => {
    assert.deepStrictEqual(runWithoutDescriptors("prepared"), ["1", "1", "1"])
  })
})
