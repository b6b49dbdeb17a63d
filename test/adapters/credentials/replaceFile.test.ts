import { execFileSync } from "node:child_process"
import { lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { afterEach, beforeEach } from "vitest"
import { readOwnerOnlyFile } from "../../../src/adapters/credentials/OwnerOnlyStore.ts"
import { replaceFile } from "../../../src/adapters/credentials/replaceFile.ts"
import { createFolder, removeFolder } from "../../temporaryFolder.ts"

let folder = ""
beforeEach(() => void (folder = createFolder()))
afterEach(() => removeFolder(folder))

const messageOf = (attempt: Promise<void>) =>
  attempt.then(
    () => "replaced",
    (error: unknown) => (error instanceof Error ? error.message : String(error))
  )

describe("replaceFile", () => {
  it.each([
    ["a link to a file", "real", true],
    ["a relative link to a missing file", "./missing", false],
    ["a link into a missing folder", "missing/real", false]
  ])("writes through %s, and keeps the link", async (_title, target, exists) => {
    const [link, real] = [join(folder, "link"), join(folder, target)]
    if (exists) writeFileSync(real, "old", { mode: 0o600 })
    symlinkSync(target, link)
    await replaceFile(link, "new")
    assert.isTrue(lstatSync(link).isSymbolicLink())
    assert.strictEqual(readFileSync(real, "utf8"), "new")
    assert.strictEqual(statSync(real).mode & 0o777, 0o600)
  })

  it("replaces neither a device nor a pipe nor a folder, also behind a link", async () => {
    const pipe = join(folder, "pipe")
    execFileSync("mkfifo", [pipe])
    const link = join(folder, "link")
    symlinkSync("/dev/null", link)
    for (const file of [link, pipe, folder, "/dev/null"]) {
      assert.strictEqual(await messageOf(replaceFile(file, "new")), "it is not a regular file")
    }
    assert.isTrue(statSync(pipe).isFIFO())
    assert.isTrue(statSync(link).isCharacterDevice())
  })
})

describe("readOwnerOnlyFile", () => {
  it("rejects a pipe without waiting for its writer, and a device", async () => {
    const pipe = join(folder, "pipe")
    execFileSync("mkfifo", ["-m", "600", pipe])
    for (const file of [pipe, "/dev/null"]) {
      assert.deepStrictEqual(await readOwnerOnlyFile(file, 10), Result.fail("it is not a regular file"))
    }
  })
})
