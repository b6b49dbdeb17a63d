import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { install, locate, type Program } from "./Program.ts"

const program: Program = {
  name: `none-${process.pid}`,
  variable: "A2C_TEST_PROGRAM",
  commands: ["a2c-no-such-program", "a2c-test-program"],
  advice: "",
  installation: "",
  install: async (folder) => writeFileSync(join(folder, "run"), "", { mode: 0o755 })
}

describe("a program of the tests", () => {
  const path = process.env["PATH"]
  let folder = ""
  const put = (name: string) => {
    const file = join(folder, name)
    writeFileSync(file, "", { mode: 0o755 })
    return file
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "a2c-programs-"))
    process.env["PATH"] = [folder, path].join(delimiter)
  })
  afterEach(() => {
    delete process.env["A2C_TEST_PROGRAM"]
    process.env["PATH"] = path
    rmSync(folder, { recursive: true })
  })

  it("is the one in its variable", () => {
    put("a2c-test-program")
    const chosen = put("other")
    process.env["A2C_TEST_PROGRAM"] = chosen
    assert.strictEqual(locate(program), chosen)
  })

  it("is missing when its variable names no executable file", () => {
    const chosen = put("a2c-test-program")
    chmodSync(chosen, 0o644)
    process.env["A2C_TEST_PROGRAM"] = chosen
    assert.isUndefined(locate(program))
  })

  it("is found on the path by any of its names", () => {
    const found = put("a2c-test-program")
    assert.strictEqual(locate(program), found)
  })

  it("is a private copy where the system has none, until the copy is removed", async () => {
    assert.isUndefined(locate(program))
    await install(program)
    const copy = locate(program) ?? ""
    assert.match(copy, /run$/)
    rmSync(join(copy, ".."), { recursive: true })
    assert.isUndefined(locate(program))
  })

  it("leaves nothing behind when its installation fails", async () => {
    const failing = { ...program, install: () => Promise.reject(new Error("no network")) }
    const message = await install(failing).catch((error: Error) => error.message)
    assert.strictEqual(message, "no network")
    assert.isUndefined(locate(failing))
  })
})
