import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const vitest = fileURLToPath(new URL("../../node_modules/.bin/vitest", import.meta.url))

const config = `
import { SkippedTests } from ${JSON.stringify(join(import.meta.dirname, "SkippedTests.ts"))}
export default { test: { reporters: [new SkippedTests()], globals: true } }
`

describe("a run with skipped tests", () => {
  let folder = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "a2c-skipped-"))
    writeFileSync(join(folder, "vitest.config.ts"), config)
    writeFileSync(join(folder, "some.test.ts"), 'it("runs", () => undefined); it.skip("waits", () => undefined)')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const run = (strict: string) => {
    const env = { ...process.env, A2C_TEST_STRICT: strict, REDIS_SERVER: "/nowhere", CHROMIUM: process.execPath }
    const { status, stdout } = spawnSync(process.execPath, [vitest, "run", "--root", folder], { env, encoding: "utf8" })
    return { status, last: stdout.trim().split("\n").at(-1) }
  }

  it("ends with the skipped tests and what they need", () => {
    assert.deepStrictEqual(run(""), {
      status: 0,
      last: "skipped tests: some.test.ts (1). Redis is missing (install redis-server, or set REDIS_SERVER to its path)"
    })
  })

  it("fails in strict mode", () => {
    const { last, status } = run("1")
    assert.strictEqual(status, 1)
    assert.match(last ?? "", /^failed, since tests were skipped: some\.test\.ts \(1\)/)
  })
})
