import { execFileSync } from "node:child_process"
import { renameSync, rmSync, symlinkSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Queue, Result, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as NodeFolders from "../../../../src/adapters/packs/discovery/NodePackFolders.ts"
import { PackFolders } from "../../../../src/application/ports/packs/PackFolders.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { write } from "../packs.ts"

const scan = (folder: string) => PackFolders.use((folders) => folders.scan(folder))

/** Version of the only pack. */
const versionIn = (folder: string) => Effect.map(scan(folder), ([entry]) => entry?.version)

type FolderTest = (folder: string) => Effect.fn.Return<void, unknown, Scope.Scope | PackFolders>

layer(NodeFolders.layer, { excludeTestServices: true })("pack folder", (it) => {
  const effect = (title: string, body: FolderTest) =>
    it.effect(title, () => Effect.flatMap(temporaryFolder, Effect.fnUntraced(body)))

  effect("lists packs by name, with files and configuration", function* (folder) {
    yield* write(folder, {
      "b_tool.ts": "1",
      "a/a_tool.ts": "1",
      "a/lib/more.ts": "1",
      "a/config.yml": "enabled: false",
      "c/config.yaml": "usage: first",
      "c/config.yml": "usage: second",
      ".hidden/x_tool.ts": "1",
      "node_modules/x/x_tool.ts": "1"
    })
    symlinkSync(join(folder, "b_tool.ts"), join(folder, "c", "link.ts"))
    const found = yield* scan(folder)
    assert.deepStrictEqual(
      found.map(({ config, files, name, path }) => ({ name, path, files, config })),
      [
        { name: "a", files: ["a_tool.ts", "config.yml"], config: Result.succeed({ enabled: false }) },
        { name: "b_tool.ts", files: undefined, config: undefined },
        {
          name: "c",
          files: ["config.yaml", "config.yml", "link.ts"],
          config: Result.succeed({ usage: "first" })
        }
      ].map(({ config, files, name }) => ({ name, path: join(folder, name), files, config }))
    )
  })

  effect("lists nothing when it does not exist", function* (folder) {
    assert.deepStrictEqual(yield* scan(join(folder, "none")), [])
  })

  effect("ignores broken links and files that block readers", function* (folder) {
    yield* write(folder, { "a/a_tool.ts": "1" })
    // Like the lock file of an editor.
    symlinkSync("nobody@nowhere:1", join(folder, "a", ".#a_tool.ts"))
    symlinkSync("/dev/zero", join(folder, "a", "zero"))
    execFileSync("mkfifo", [join(folder, "a", "pipe"), join(folder, "pipe")])
    const [a] = yield* scan(folder)
    assert.deepStrictEqual([a?.name, a?.files], ["a", ["a_tool.ts"]])
  })

  effect("fails for a path that is not a folder", function* (folder) {
    yield* write(folder, { file: "" })
    const { message } = yield* Effect.flip(scan(join(folder, "file")))
    assert.match(message, /^the folder .*file cannot be read: ENOTDIR/)
  })

  effect("changes the version with any file of a pack", function* (folder) {
    yield* write(folder, { "a/a_tool.ts": "1", "a/lib/more.ts": "1" })
    const versions = [yield* versionIn(folder)]
    const changes: ReadonlyArray<Parameters<typeof write>[1]> = [
      { "a/lib/more.ts": "2" },
      { "a/config.yaml": "" },
      { "a/package.json": "{}" },
      { "a/new/file.txt": "" }
    ]
    for (const change of changes) {
      yield* write(folder, change)
      versions.push(yield* versionIn(folder))
    }
    renameSync(join(folder, "a", "new"), join(folder, "a", "newer"))
    versions.push(yield* versionIn(folder))
    assert.strictEqual(new Set(versions).size, versions.length)
  })

  effect("changes the version with the tool, beside any number of files", function* (folder) {
    const many = Array.from({ length: 2000 }, (_, index) => [`a/assets/${index}.txt`, "1"])
    yield* write(folder, { ...Object.fromEntries(many), "a/b_tool.ts": "1" })
    const before = yield* versionIn(folder)
    yield* write(folder, { "a/b_tool.ts": "2" })
    assert.notStrictEqual(yield* versionIn(folder), before)
  })

  effect("keeps the version for installed, hidden, generated and identical files", function* (folder) {
    yield* write(folder, { "a/a_tool.ts": "1" })
    const before = yield* versionIn(folder)
    yield* write(folder, {
      "a/a_tool.ts": "1",
      "a/node_modules/x/index.js": "",
      "a/package-lock.json": "{}",
      "a/package.json": '{ "generatedBy": "a2c-smcp" }',
      "a/.cache/x": ""
    })
    utimesSync(join(folder, "a", "a_tool.ts"), 1, 1)
    assert.strictEqual(yield* versionIn(folder), before)
  })

  const changes: ReadonlyArray<readonly [what: string, change: (folder: string) => Effect.Effect<void>]> = [
    ["a changed file", (folder) => write(folder, { "here/a/a_tool.ts": "2" })],
    ["a new folder", (folder) => write(folder, { "here/b/lib/b.ts": "1" })],
    ["a removed file", (folder) => Effect.sync(() => rmSync(join(folder, "here", "a", "a_tool.ts")))],
    ["a folder created later", (folder) => write(folder, { "missing/c_tool.ts": "1" })],
    ["a removed folder", (folder) => Effect.sync(() => rmSync(join(folder, "here"), { recursive: true }))]
  ]
  for (const [what, change] of changes) {
    effect(`reports ${what}`, function* (folder) {
      yield* write(folder, { "here/a/a_tool.ts": "1" })
      const watched = [join(folder, "here"), join(folder, "missing")]
      const changes = yield* PackFolders.use((folders) => folders.watch(watched))
      yield* change(folder)
      yield* changes.pipe(Stream.take(1), Stream.runDrain, Effect.timeout("30 seconds"))
    })
  }

  effect("watches a folder again after its deletion", function* (folder) {
    const watched = join(folder, "watched")
    const changes = yield* PackFolders.use((folders) => folders.watch([watched]))
    const notified = yield* Queue.unbounded<void>()
    yield* Effect.forkScoped(Stream.runForEach(changes, () => Queue.offer(notified, undefined)))
    yield* write(watched, { a: "1" })
    yield* Queue.take(notified)
    yield* Queue.take(notified) // the second notification of the same change
    yield* write(watched, { a: "2" })
    yield* Effect.timeout(Queue.take(notified), "10 seconds")
  })

  effect("ignores installed packages", function* (folder) {
    yield* write(folder, { "a/node_modules/b/index.js": "1" })
    const changes = yield* PackFolders.use((folders) => folders.watch([folder]))
    yield* write(folder, { "a/node_modules/b/index.js": "2", "a/.cache/x": "" })
    const outcome = yield* changes.pipe(Stream.take(1), Stream.runDrain, Effect.timeoutOption("500 millis"))
    assert.strictEqual(outcome._tag, "None")
  })
})

/** Lets the file system report its events, and then the timers of the watcher pass. */
const passTime = Effect.andThen(
  Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
  TestClock.adjust("1 second")
)

layer(NodeFolders.layer)("a watched pack", (it) => {
  it.effect("reports every save of an editor that replaces the file", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* write(folder, { "a/a_tool.ts": "0" })
      const changes = yield* PackFolders.use((folders) => folders.watch([folder]))
      let reported: string | undefined
      const report = Effect.map(versionIn(folder), (version) => void (reported = version))
      yield* Effect.forkScoped(Stream.runForEach(changes, () => report))
      for (const text of ["1", "2", "3"]) {
        yield* write(folder, { "a/.saving": text })
        renameSync(join(folder, "a", ".saving"), join(folder, "a", "a_tool.ts"))
        const saved = yield* versionIn(folder)
        yield* Effect.repeat(passTime, { until: () => reported === saved })
        yield* Effect.repeat(passTime, { times: 5 })
      }
    })
  )
})
