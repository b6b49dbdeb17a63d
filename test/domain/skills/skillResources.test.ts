import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  findSkillFiles,
  hasSkillScheme,
  parseSkillResource,
  type SkillResource
} from "../../../src/domain/skills/skillResources.ts"

const uri = "skill://host/pdf"

const parse = (meta: object, name = uri) => parseSkillResource({ uri: name, name: "x", _meta: meta })

describe("resource of a skill", () => {
  it("names a folder of this host", () => {
    for (const folder of ["/srv/skills/pdf", "C:\\skills\\pdf"]) {
      assert.deepStrictEqual(
        parse({ source: "mounted", mount_dir: folder, version: "1.0" }),
        Result.succeed<SkillResource>({ uri, skill: "pdf", origin: { _tag: "Mounted", folder }, version: "1.0" })
      )
    }
  })

  it("names an archive among the resources", () => {
    const archive = { source: "archive", archive_uri: "skill://host/pdf.zip", archive_format: "zip" }
    assert.deepStrictEqual(
      parse({ ...archive, archive_sha256: "AB", etag: "e" }),
      Result.succeed<SkillResource>({
        uri,
        skill: "pdf",
        origin: { _tag: "Archive", uri: "skill://host/pdf.zip", format: "zip", sha256: "ab" },
        etag: "e"
      })
    )
    assert.isTrue(Result.isSuccess(parse({ ...archive, archive_format: "tar.gz" }) ?? Result.fail("")))
  })

  it("stands for the resources below it", () => {
    assert.deepStrictEqual(
      parse({ source: "resources" }),
      Result.succeed<SkillResource>({ uri, skill: "pdf", origin: { _tag: "Resources" } })
    )
  })

  it("is no skill with another scheme, with more segments, or without a source", () => {
    const source = { source: "resources" }
    for (const other of ["file:///a", "skill://host/pdf/SKILL.md", "skill://host/pdf/", "skill:pdf"])
      assert.isUndefined(parse(source, other), other)
    assert.deepStrictEqual([parse({}), parseSkillResource({ uri })], [undefined, undefined])
  })

  const invalidName = "invalid name: expected a-z, 0-9 and single - between them"

  it.each([
    [{ source: "resources" }, "skill://host/P", invalidName],
    [{ source: "resources" }, "skill://host", invalidName],
    [{ source: "http" }, uri, "_meta.source must be one of mounted, archive, resources"],
    [{ source: "mounted", mount_dir: "skills/pdf" }, uri, "mount_dir is not an absolute path"],
    [{ source: "mounted" }, uri, "mount_dir is not an absolute path"],
    [{ source: "archive", archive_format: "zip" }, uri, "archive_uri is missing"],
    [
      { source: "archive", archive_uri: "skill://host/a", archive_format: "rar" },
      uri,
      "archive_format must be one of tar.gz, zip"
    ]
  ])("is rejected with an unusable name or source: %j, %s", (meta, name, reason) => {
    assert.deepStrictEqual(parse(meta, name), Result.fail(reason))
  })
})

describe("listing of a skill", () => {
  const skill: SkillResource = { uri, skill: "pdf", origin: { _tag: "Resources" } }
  const find = (...uris: ReadonlyArray<string>) =>
    findSkillFiles(
      skill,
      uris.map((one) => ({ uri: one }))
    )

  it("includes the resources below it, by their paths", () => {
    assert.deepStrictEqual(
      find(
        uri,
        `${uri}/SKILL.md`,
        `${uri}/scripts/a%20b.py`,
        "skill://host/other/SKILL.md",
        "skill://x/pdf/SKILL.md",
        `${uri}/scripts/`,
        `${uri}/`,
        "file:///a"
      ),
      Result.succeed([
        { uri: `${uri}/SKILL.md`, relPath: "SKILL.md" },
        { uri: `${uri}/scripts/a%20b.py`, relPath: "scripts/a b.py" }
      ])
    )
  })

  it("rejects paths out of its folder", () => {
    for (const path of ["..", "../x", "a/..%2fb", "%2e%2e/x", "a%2f..%2f..%2fb", "a%2Fb", "a%5Cb", "%00"]) {
      assert.isTrue(Result.isFailure(find(`${uri}/${path}`)), path)
    }
  })
})

describe("scheme of skills", () => {
  it("ignores the case", () => {
    const uris = ["skill://a/b", "SKILL://a/b", "skills://a/b", "x"]
    assert.deepStrictEqual(uris.filter(hasSkillScheme), uris.slice(0, 2))
  })
})
