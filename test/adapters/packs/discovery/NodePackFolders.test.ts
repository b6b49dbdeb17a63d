import { execFileSync } from "node:child_process"
import { renameSync, rmSync, symlinkSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Queue, Result, Stream } from "effect"
import * as NodeFolders from "../../../../src/adapters/packs/discovery/NodePackFolders.ts"
import { PackFolders } from "../../../../src/application/ports/packs/PackFolders.ts"
import { temporaryFolder, write } from "../packs.ts"

const scan = (folder: string) => PackFolders.use((folders) => folders.scan(folder))

/** The version of the only pack there. */
const versionIn = (folder: string) => Effect.map(scan(folder), ([entry]) => entry?.version)

layer(NodeFolders.layer, { excludeTestServices: true })("folders", (it) => {
  it.effect("are told by name in order, with files and configuration", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
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
  )

  it.effect("that do not exist are empty", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      assert.deepStrictEqual(yield* scan(join(folder, "none")), [])
    })
  )

  it.effect("links that lead nowhere and what never ends to be read do no harm", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* write(folder, { "a/a_tool.ts": "1" })
      // As an editor leaves it beside a file that is being edited.
      symlinkSync("nobody@nowhere:1", join(folder, "a", ".#a_tool.ts"))
      symlinkSync("/dev/zero", join(folder, "a", "zero"))
      execFileSync("mkfifo", [join(folder, "a", "pipe"), join(folder, "pipe")])
      const [a] = yield* scan(folder)
      assert.deepStrictEqual([a?.name, a?.files], ["a", ["a_tool.ts"]])
    })
  )

  it.effect("that are none are unreadable", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* write(folder, { file: "" })
      const { message } = yield* Effect.flip(scan(join(folder, "file")))
      assert.match(message, /^the folder .*file cannot be read: ENOTDIR/)
    })
  )

  it.effect("a version changes with any file of a pack", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
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
  )

  it.effect("a version changes with the tool, however much lies beside it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const many = Array.from({ length: 2000 }, (_, index) => [`a/assets/${index}.txt`, "1"])
      yield* write(folder, { ...Object.fromEntries(many), "a/b_tool.ts": "1" })
      const before = yield* versionIn(folder)
      yield* write(folder, { "a/b_tool.ts": "2" })
      assert.notStrictEqual(yield* versionIn(folder), before)
    })
  )

  it.effect("a version stays for what is installed, hidden, ours, or the same", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
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
  )

  const changes: ReadonlyArray<readonly [what: string, change: (folder: string) => Effect.Effect<void>]> = [
    ["a file that changes", (folder) => write(folder, { "here/a/a_tool.ts": "2" })],
    ["a new folder", (folder) => write(folder, { "here/b/lib/b.ts": "1" })],
    ["a file that goes", (folder) => Effect.sync(() => rmSync(join(folder, "here", "a", "a_tool.ts")))],
    ["a folder that appears", (folder) => write(folder, { "missing/c_tool.ts": "1" })],
    ["a folder that goes", (folder) => Effect.sync(() => rmSync(join(folder, "here"), { recursive: true }))]
  ]
  for (const [what, change] of changes) {
    it.effect(`${what} is told`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        yield* write(folder, { "here/a/a_tool.ts": "1" })
        const watched = [join(folder, "here"), join(folder, "missing")]
        const told = yield* PackFolders.use((folders) => folders.watch(watched))
        yield* change(folder)
        yield* told.pipe(Stream.take(1), Stream.runDrain, Effect.timeout("10 seconds"))
      })
    )
  }

  it.effect("a folder that came back is watched again", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const watched = join(folder, "watched")
      const told = yield* PackFolders.use((folders) => folders.watch([watched]))
      const heard = yield* Queue.unbounded<void>()
      yield* Effect.forkScoped(Stream.runForEach(told, () => Queue.offer(heard, undefined)))
      yield* write(watched, { a: "1" })
      yield* Queue.take(heard)
      yield* Queue.take(heard) // the echo: nothing is left to be told after it
      yield* write(watched, { a: "2" })
      yield* Effect.timeout(Queue.take(heard), "10 seconds")
    })
  )

  it.effect("what is installed is not told", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* write(folder, { "a/node_modules/b/index.js": "1" })
      const told = yield* PackFolders.use((folders) => folders.watch([folder]))
      yield* write(folder, { "a/node_modules/b/index.js": "2", "a/.cache/x": "" })
      const outcome = yield* told.pipe(Stream.take(1), Stream.runDrain, Effect.timeoutOption("500 millis"))
      assert.strictEqual(outcome._tag, "None")
    })
  )
})
