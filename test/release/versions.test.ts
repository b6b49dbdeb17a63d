import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { packageVersion, versionedFiles } from "../../scripts/versionedFiles.ts"

describe("a release", () => {
  it.each(Object.entries(versionedFiles))("has its version in %s", (file, version) => {
    const found = [...readFileSync(file, "utf8").matchAll(version)].map(([text, before = ""]) =>
      text.replace(before, "")
    )
    assert.isNotEmpty(found)
    assert.deepStrictEqual(new Set(found), new Set([packageVersion]))
  })

  it("has notes in the changelog", () => {
    assert.match(readFileSync("CHANGELOG.md", "utf8"), new RegExp(`^## ${packageVersion}$`, "m"))
  })
})
