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
    assert.deepStrictEqual(
      [
        parse(source, "file:///a"),
        parse(source, "skill://host/pdf/SKILL.md"),
        parse(source, "skill://host/pdf/"),
        parse(source, "skill:pdf"),
        parse({}),
        parseSkillResource({ uri })
      ],
      Array.from({ length: 6 }, () => undefined)
    )
  })

  it("is rejected with an unusable name or source", () => {
    assert.deepStrictEqual(
      [
        parse({ source: "resources" }, "skill://host/P"),
        parse({ source: "resources" }, "skill://host"),
        parse({ source: "http" }),
        parse({ source: "mounted", mount_dir: "skills/pdf" }),
        parse({ source: "mounted" }),
        parse({ source: "archive", archive_format: "zip" }),
        parse({ source: "archive", archive_uri: "skill://host/a", archive_format: "rar" })
      ].map((parsed) => (parsed !== undefined && Result.isFailure(parsed) ? parsed.failure : parsed)),
      [
        "invalid name: expected a-z, 0-9 and single - between them",
        "invalid name: expected a-z, 0-9 and single - between them",
        "_meta.source must be one of mounted, archive, resources",
        "mount_dir is not an absolute path",
        "mount_dir is not an absolute path",
        "archive_uri is missing",
        "archive_format must be one of tar.gz, zip"
      ]
    )
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
    assert.deepStrictEqual(["skill://a/b", "SKILL://a/b", "skills://a/b", "x"].map(hasSkillScheme), [
      true,
      true,
      false,
      false
    ])
  })
})
