import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { hashApiKey } from "../../../../src/adapters/auth/apiKeyEntries.ts"
import { temporaryFile } from "../../processes.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { a2cInProcess, messageOf } from "../inProcess.ts"

const key = (...args: ReadonlyArray<string>) => a2cInProcess("server", "key", ...args)

/** The path of a file that does not exist yet, in a temporary folder. */
const newFile = Effect.map(temporaryFile("other", ""), (other) => join(dirname(other), "keys.json"))

const keysIn = (file: string) =>
  (
    JSON.parse(readFileSync(file, "utf8")) as {
      readonly keys: ReadonlyArray<{ readonly subject: string; readonly hash: string; readonly rights: unknown }>
    }
  ).keys

describe("a2c server key", () => {
  it.live("creates a file that only its owner can read, and prints the key once", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      const { failure, stderr, stdout } = yield* key("--add", file, "--subject", "desk", "--right", "computer")
      assert.isUndefined(failure)
      const [entry, ...others] = keysIn(file)
      const hash = `sha256:${hashApiKey(stdout.trim())}`
      assert.deepStrictEqual(others, [])
      assert.deepInclude(entry, { subject: "desk", hash, rights: ["computer"] })
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      assert.include(stderr, `Added key ${hash.slice(7, 19)} of 'desk'`)
      assert.notInclude(readFileSync(file, "utf8") + stderr, stdout.trim())
    })
  )

  it.live("keeps comments, mode and links of an existing file", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      const link = join(dirname(file), "link.json")
      writeFileSync(file, '{\n  // the team\n  "keys": [], // none yet\n}\n')
      chmodSync(file, 0o640)
      symlinkSync(file, link)
      yield* key("--add", link, "--subject", "one")
      yield* key("--add", link, "--subject", "two")
      yield* key("--revoke", link, "one")
      const text = readFileSync(file, "utf8")
      assert.match(text, /^\{\n {2}\/\/ the team\n {2}"keys": \[\n.*"two".*\], \/\/ none yet\n\}\n$/s)
      assert.notInclude(text, '"one"')
      assert.strictEqual(statSync(file).mode & 0o777, 0o640)
    })
  )

  it.live("changes neither a device nor a folder", () =>
    Effect.gen(function* () {
      for (const file of ["/dev/null", yield* temporaryFolder]) {
        const { failure } = yield* key("--add", file)
        assert.include(String(failure), `${file} cannot be changed: it is not a regular file`)
      }
      assert.isTrue(statSync("/dev/null").isCharacterDevice())
    })
  )

  it.live("lists the keys by id, also expired ones", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      yield* key("--add", file, "--subject", "desk", "--right", "computer", "--office", "team")
      yield* key("--add", file, "--subject", "old", "--expires", "2020-01-31")
      const { stdout } = yield* key("--list", file)
      const [desk, old] = keysIn(file).map(({ hash }) => hash.slice(7, 19))
      assert.match(stdout, /^ID +SUBJECT +RIGHTS +OFFICES +NAMES +EXPIRES\n/)
      assert.match(stdout, new RegExp(`^${desk} +desk +computer +team +\\* +never$`, "m"))
      assert.match(
        stdout,
        new RegExp(`^${old} +old +agent,computer +\\* +\\* +2020-01-31T00:00:00.000Z \\(expired\\)$`, "m")
      )
    })
  )

  it.live("revokes by id when several keys have the subject", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      yield* key("--add", file, "--subject", "desk")
      yield* key("--add", file, "--subject", "desk")
      const [one = "", two = ""] = keysIn(file).map(({ hash }) => hash.slice(7, 19))
      const several = yield* key("--revoke", file, "desk")
      assert.strictEqual(messageOf(several.failure), `${file}: several keys match 'desk': revoke by id: ${one}, ${two}`)
      const { stderr } = yield* key("--revoke", file, one)
      assert.include(stderr, `Revoked key ${one} of 'desk'`)
      assert.deepStrictEqual(
        keysIn(file).map(({ hash }) => hash.slice(7, 19)),
        [two]
      )
      const missing = yield* key("--revoke", file, one)
      assert.strictEqual(messageOf(missing.failure), `${file}: no key has the subject or id '${one}'`)
    })
  )

  it.live("loses no key of commands that run at the same time", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      const subjects = Array.from({ length: 8 }, (_, index) => `s${index}`)
      yield* Effect.forEach(subjects, (subject) => key("--add", file, "--subject", subject), {
        concurrency: "unbounded",
        discard: true
      })
      const added = keysIn(file).map(({ subject }) => subject)
      assert.sameMembers(added, subjects)
      assert.isFalse(existsSync(`${file}.lock`))
    })
  )

  it.effect("names the lock of a command that was killed, after five seconds", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      writeFileSync(`${file}.lock`, "1\n")
      const adding = yield* Effect.forkChild(key("--add", file))
      const soon = TestClock.withLive(Effect.sleep("5 millis"))
      const passing = Effect.forever(Effect.andThen(soon, TestClock.adjust("1 second")))
      const { failure } = yield* Effect.raceFirst(Fiber.join(adding), passing)
      assert.strictEqual(
        messageOf(failure),
        `${file} cannot be changed: another command edits it; delete ${file}.lock if no command runs`
      )
      assert.isTrue(existsSync(`${file}.lock`))
    })
  )

  it.live("leaves an invalid file as it is, and a missing one missing", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      const missing = yield* key("--revoke", file, "desk")
      assert.strictEqual(messageOf(missing.failure), `${file}: error: file not found`)
      assert.isFalse(existsSync(file))
      writeFileSync(file, '{ "keys": [{}] }')
      for (const args of [
        ["--add", file],
        ["--list", file],
        ["--revoke", file, "desk"]
      ]) {
        assert.include(messageOf((yield* key(...args)).failure), `${file}:1:12: error: keys[0].subject: Missing key`)
      }
      assert.strictEqual(readFileSync(file, "utf8"), '{ "keys": [{}] }')
    })
  )

  it.live("rejects combinations of its flags", () =>
    Effect.gen(function* () {
      for (const [args, reason] of [
        [["--add", "a", "--list", "b"], "Give one of --add, --list and --revoke"],
        [["desk"], "'desk' needs --revoke FILE"],
        [["--revoke", "a"], "--revoke needs the subject or id of a key: a2c server key --revoke FILE KEY"]
      ] as const) {
        assert.strictEqual(messageOf((yield* key(...args)).failure), reason)
      }
    })
  )
})
