import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import * as MemoryCredentialStore from "../../fixtures/MemoryCredentialStore.ts"
import * as FileCredentialStore from "../../../src/adapters/credentials/FileCredentialStore.ts"
import { CredentialStore } from "../../../src/application/ports/CredentialStore.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { liveWith } from "../../testWith.ts"

/** A path in a folder that does not exist. */
const somewhere = Effect.map(temporaryFolder, (path) => join(path, "config", "a2c", "credentials.json"))

const read = (server: string) =>
  CredentialStore.use((store) => store.read(server)).pipe(Effect.map(Option.map(Redacted.value)))
const write = (server: string, text: string) => CredentialStore.use((store) => store.write(server, Redacted.make(text)))
const remove = (server: string) => CredentialStore.use((store) => store.remove(server))

/** The contract of every {@link CredentialStore}. */
const contract = (name: string, store: Layer.Layer<CredentialStore>) => {
  const live = (title: string, body: () => Effect.fn.Return<void, unknown, CredentialStore>) =>
    it.live(title, () => Effect.provide(Effect.gen(body), Layer.fresh(store)))

  describe(name, () => {
    live("starts empty and accepts a removal without credentials", function* () {
      yield* remove("github")
      assert.deepStrictEqual(yield* read("github"), Option.none())
    })

    live("returns the latest credentials", function* () {
      yield* write("github", "first")
      yield* write("github", '{"tökens":"\\u0000"}')
      assert.deepStrictEqual(yield* read("github"), Option.some('{"tökens":"\\u0000"}'))
    })

    live("separates the credentials of servers", function* () {
      yield* write("a", "of a")
      yield* write("b", "of b")
      yield* remove("a")
      assert.deepStrictEqual([yield* read("a"), yield* read("b")], [Option.none(), Option.some("of b")])
    })

    live("accepts any text as the name of a server", function* () {
      const names = ["__proto__", "constructor", "toString", "", "a/../b", "ü"]
      assert.isTrue((yield* Effect.forEach(names, read)).every(Option.isNone))
      yield* Effect.forEach(names, (server) => write(server, `of ${server}`))
      assert.deepStrictEqual(
        yield* Effect.forEach(names, read),
        names.map((server) => Option.some(`of ${server}`))
      )
    })

    live("keeps all concurrent writes", function* () {
      const names = Array.from({ length: 20 }, (_, index) => `server${index}`)
      yield* Effect.forEach(names, (server) => write(server, server), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        yield* Effect.forEach(names, read),
        names.map((server) => Option.some(server))
      )
    })

    live("prints no credentials", function* () {
      yield* write("github", "s3cret")
      const found = yield* CredentialStore.use((one) => one.read("github"))
      assert.notInclude(`${String(found)} ${JSON.stringify(found)}`, "s3cret")
    })
  })
}

describe("CredentialStore", () => {
  contract("in memory", MemoryCredentialStore.layer)
  contract("in a file", Layer.unwrap(Effect.map(somewhere, (path) => FileCredentialStore.layer({ path }))))
})

describe("the credentials file", () => {
  const live = liveWith(somewhere)
  const at = (path: string) => Effect.provide(FileCredentialStore.layer({ path }))
  const put = (path: string, text: string, mode = 0o600) => {
    mkdirSync(join(path, ".."), { recursive: true })
    writeFileSync(path, text)
    chmodSync(path, mode)
  }

  live("is readable by its owner only, as its folder", function* (path) {
    yield* write("github", "s3cret").pipe(at(path))
    const modes = [path, join(path, "..")].map((one) => (statSync(one).mode & 0o777).toString(8))
    assert.deepStrictEqual(modes, ["600", "700"])
  })

  live("outlives the store", function* (path) {
    yield* write("github", "s3cret").pipe(at(path))
    assert.deepStrictEqual(yield* read("github").pipe(at(path)), Option.some("s3cret"))
  })

  live("keeps credentials with escapes after names of several bytes", function* (path) {
    put(path, String.raw`{"version":1,"servers":{"üüü":"\n","":"x"}}`)
    assert.deepStrictEqual(yield* read("üüü").pipe(at(path)), Option.some("\n"))
  })

  live("keeps all concurrent writes of several stores", function* (path) {
    const names = Array.from({ length: 20 }, (_, index) => `server${index}`)
    yield* Effect.forEach(names, (server) => write(server, server).pipe(at(path)), {
      concurrency: "unbounded"
    })
    const found = yield* Effect.forEach(names, read).pipe(at(path))
    assert.isTrue(found.every(Option.isSome))
  })

  live("changes atomically and leaves no other file", function* (path) {
    yield* write("github", "first").pipe(at(path))
    const before = statSync(path).ino
    yield* write("github", "second").pipe(at(path))
    assert.notStrictEqual(statSync(path).ino, before)
    assert.deepStrictEqual(readdirSync(join(path, "..")), ["credentials.json"])
  })

  live("fails when its folder is a file", function* (path) {
    put(join(path, ".."), "a file")
    const failure = yield* Effect.flip(write("github", "s3cret").pipe(at(path)))
    assert.include(failure.message, path)
    assert.notInclude(failure.message, "s3cret")
  })

  live("is not taken for a missing file when its folder is a file", function* (path) {
    put(join(path, ".."), "a file")
    const failure = yield* Effect.flip(read("github").pipe(at(path)))
    assert.match(failure.message, /Cannot read .*ENOTDIR/)
  })

  live("fails when the new file cannot replace it, and leaves no other file", function* (path) {
    const parent = join(path, "..")
    // A file cannot replace the folder itself.
    const failure = yield* Effect.flip(write("github", "s3cret").pipe(at(`${parent}/.`)))
    assert.match(failure.message, /Cannot write /)
    assert.notInclude(failure.message, "s3cret")
    assert.deepStrictEqual(readdirSync(parent), [])
  })

  live("fails with the error of the write when no file was made", function* (path) {
    // The name is that of a folder, which does not exist.
    const failure = yield* Effect.flip(write("github", "s3cret").pipe(at(`${path}/`)))
    assert.match(failure.message, /Cannot write .*ENOENT.* open /)
  })

  for (const mode of [0o644, 0o640, 0o620, 0o602]) {
    live(`is refused with mode ${mode.toString(8)}`, function* (path) {
      const text = '{"version":1,"servers":{"github":"s3cret"}}'
      put(path, text, mode)
      const outcomes = [read("github"), write("github", "x"), remove("github")]
      for (const outcome of outcomes) {
        const failure = yield* Effect.flip(Effect.asVoid(outcome).pipe(at(path)))
        assert.include(failure.message, path)
        assert.include(failure.message, `mode 0${mode.toString(8)}`)
      }
      assert.strictEqual(readFileSync(path, "utf8"), text)
    })
  }

  it.live.each([
    ["no JSON", "s3cret", "not JSON"],
    ["half of it", '{"version":1,"servers":{"github":"s3cre', "not JSON"],
    ["nothing", "", "not JSON"],
    ["a list", '["s3cret"]', "not a file of credentials"],
    ["no version", '{"servers":{"github":"s3cret"}}', "version is not 1"],
    ["a later version", '{"version":2,"servers":{"github":"s3cret"}}', "version is not 1"],
    ["no servers", '{"version":1,"github":"s3cret"}', "must be an object"],
    ["credentials that are no text", '{"version":1,"servers":{"github":{"token":"s3cret"}}}', "must be a string"],
    ["credentials of which only one is a text", '{"version":1,"servers":{"a":"s3cret","b":7}}', "must be a string"],
    ["too much", `{"version":1,"servers":{"github":"s3cret${"x".repeat(1024 * 1024)}"}}`, "larger than"]
  ] as const)("with %s is refused and left alone", ([, text, why]) =>
    Effect.gen(function* () {
      const path = yield* somewhere
      put(path, text)
      const failure = yield* Effect.flip(read("github").pipe(at(path)))
      assert.include(failure.message, path)
      assert.include(failure.message, why)
      assert.notInclude(failure.message, "s3cre")
      yield* Effect.flip(write("other", "x").pipe(at(path)))
      assert.strictEqual(readFileSync(path, "utf8"), text)
    })
  )

  live("does not grow beyond the size limit of reads", function* (path) {
    yield* write("github", "kept").pipe(at(path))
    yield* Effect.flip(write("other", "x".repeat(1024 * 1024)).pipe(at(path)))
    assert.deepStrictEqual(yield* read("github").pipe(at(path)), Option.some("kept"))
  })

  live("accepts exactly 1 MiB, and no byte more", function* (path) {
    yield* write("github", "").pipe(at(path))
    const rest = 1024 * 1024 - statSync(path).size
    yield* write("github", "x".repeat(rest)).pipe(at(path))
    assert.strictEqual(statSync(path).size, 1024 * 1024)
    assert.deepStrictEqual(yield* read("github").pipe(at(path)), Option.some("x".repeat(rest)))
    const failure = yield* Effect.flip(write("github", "x".repeat(rest + 1)).pipe(at(path)))
    assert.match(failure.message, /Cannot write .*1048576 bytes/)
  })

  it("stands in the user's configuration folder by default", () => {
    const { defaultCredentialPath } = FileCredentialStore
    assert.strictEqual(defaultCredentialPath({}, "linux", "/home/u"), "/home/u/.config/a2c/credentials.json")
    assert.strictEqual(
      defaultCredentialPath({ XDG_CONFIG_HOME: "/etc/u" }, "darwin", "/home/u"),
      "/etc/u/a2c/credentials.json"
    )
    assert.strictEqual(
      defaultCredentialPath({ XDG_CONFIG_HOME: "relative" }, "linux", "/home/u"),
      "/home/u/.config/a2c/credentials.json"
    )
    const roaming = "C:\\Users\\u\\AppData\\Roaming"
    const windows = `${roaming}\\a2c\\credentials.json`
    assert.strictEqual(defaultCredentialPath({ APPDATA: roaming }, "win32", "C:\\Users\\u"), windows)
    assert.strictEqual(defaultCredentialPath({}, "win32", "C:\\Users\\u"), windows)
    assert.strictEqual(defaultCredentialPath({ APPDATA: "" }, "win32", "C:\\Users\\u"), windows)
    assert.strictEqual(
      defaultCredentialPath({ APPDATA: "D:\\r" }, "win32", "C:\\Users\\u"),
      "D:\\r\\a2c\\credentials.json"
    )
  })
})
