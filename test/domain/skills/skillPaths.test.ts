import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { isForbiddenPath, parseSkillPath } from "../../../src/domain/skills/skillPaths.ts"

const failureOf = (path: string) => {
  const parsed = parseSkillPath(path)
  return Result.isFailure(parsed) ? parsed.failure : undefined
}

/** The paths whose outcome is not `expected`. */
const others = (paths: ReadonlyArray<string>, expected: string | undefined) =>
  paths.filter((path) => failureOf(path) !== expected)

describe("path of a skill's file", () => {
  it("is normalized", () => {
    assert.deepStrictEqual(
      ["SKILL.md", "./SKILL.md", "a//b/./c.md", "a/b/", "..a/b..", "...", "a b/é.md"].map((path) =>
        Result.getOrThrow(parseSkillPath(path))
      ),
      ["SKILL.md", "SKILL.md", "a/b/c.md", "a/b", "..a/b..", "...", "a b/é.md"]
    )
  })

  it("stays below the folder", () => {
    const paths = [
      "..",
      "../a",
      "a/../../b",
      "a/..",
      "/etc/passwd",
      "//host/a",
      "a\\..\\b",
      "..\\a",
      "C:/a",
      "c:a",
      "a\0"
    ]
    assert.deepStrictEqual(others(paths, "traversal"), [])
  })

  it("names something below the folder, in text that UTF-8 can encode", () => {
    assert.deepStrictEqual(others(["", ".", "./", "././", "a\ud800"], "not_found"), [])
  })

  it("never names a file with secrets", () => {
    const paths = [
      ".skillenv",
      "scripts/.skillenv",
      ".env",
      ".env.local",
      ".env.production.local",
      ".envrc",
      "certs/server.pem",
      "a.key",
      "id_rsa",
      "id_rsa.pub",
      "id_ed25519",
      ".netrc",
      "credentials",
      "credentials.json",
      ".npmrc",
      ".git/config",
      "sub/.git/HEAD",
      ".git",
      ".ssh/config"
    ]
    assert.deepStrictEqual(others(paths, "forbidden"), [])
  })

  it("never names such a file in another spelling of the same name", () => {
    const paths = [
      ".SKILLENV",
      ".Env",
      "ID_RSA",
      "SERVER.PEM",
      ".GIT/config",
      ".env.",
      ".skillenv ",
      ".skillenv::$DATA",
      ".g\u200cit/config",
      ".ｓkillenv",
      "./.skillenv",
      ".skillenv/"
    ]
    assert.deepStrictEqual(others(paths, "forbidden"), [])
  })

  it("resembles a file with secrets without being one", () => {
    const paths = [
      ".environment",
      "env",
      "a.env",
      "pem",
      "keys.md",
      "skillenv",
      "my-credentials.md",
      ".gitignore",
      "a.keys"
    ]
    assert.deepStrictEqual(others(paths, undefined), [])
  })

  it.prop(
    "has no segment that leads elsewhere",
    [Schema.Array(Schema.Literals(["a", "..", ".", "", "/", "\\", "b.md", "C:", "\0"]))],
    ([segments]) => {
      const parsed = parseSkillPath(segments.join("/"))
      if (Result.isFailure(parsed)) return
      assert.match(parsed.success, /^(?:a|b\.md|C:)(?:\/(?:a|b\.md|C:))*$/)
      assert.notMatch(parsed.success, /^C:/)
    },
    { arbitrary: { runs: 500 } }
  )

  it.prop("is the same when it is parsed again", [Schema.String], ([path]) => {
    const parsed = parseSkillPath(path)
    if (Result.isSuccess(parsed)) assert.deepStrictEqual(parseSkillPath(parsed.success), parsed)
  })

  it("is checked in time that grows with its length only", () => {
    assert.isFalse(isForbiddenPath(". ".repeat(500_000) + "x"))
  })
})
