import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const program = join(import.meta.dirname, "..", "..", "fixtures", "scarceDescriptors.ts")

/** What a process says that has no descriptors left. It fails when that ends the process. */
const scarce = (...args: ReadonlyArray<string>): ReadonlyArray<string> =>
  execFileSync("/bin/sh", ["-c", 'ulimit -n 64 && exec "$0" "$@"', process.execPath, program, ...args], {
    encoding: "utf8",
    timeout: 30_000,
    killSignal: "SIGKILL"
  })
    .trim()
    .split("\n")

describe("checking parameters where the system gives nothing more", () => {
  it("what may take for ever is not checked, and harms nobody", () => {
    assert.deepStrictEqual(scarce(), ["schema worker failed to start: EMFILE", "1"])
  })

  it("who has checked such a schema before can go on", () => {
    assert.deepStrictEqual(scarce("prepared"), ["1", "1", "1"])
  })
})
