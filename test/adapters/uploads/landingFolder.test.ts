import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, type Layer, type Scope } from "effect"
import { makeMemoryLandingFolder } from "./MemoryLandingFolder.ts"
import * as NodeLandingFolder from "../../../src/adapters/uploads/NodeLandingFolder.ts"
import { LandingFolder } from "../../../src/application/ports/files/LandingFolder.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { type TestBody, liveWith } from "../../testWith.ts"

/** A folder for uploads, and access to its files. */
interface Site {
  readonly landing: LandingFolder["Service"]
  readonly folder: string
  readonly names: () => ReadonlyArray<string>
  readonly read: (path: string) => Uint8Array
  readonly write: (name: string, bytes: Uint8Array) => void
}

const memorySite = Effect.gen(function* (): Effect.fn.Return<Site> {
  const { files, layer } = makeMemoryLandingFolder()
  const folder = "/uploads"
  return {
    landing: yield* Effect.provide(LandingFolder, layer),
    folder,
    names: () => [...files.keys()].map((path) => path.slice(folder.length + 1)),
    read: (path) => new Uint8Array(files.get(path) ?? assert.fail(`no file ${path}`)),
    write: (name, bytes) => void files.set(`${folder}/${name}`, bytes)
  }
})

const makeNodeSite = Effect.fnUntraced(function* (
  layer: Layer.Layer<LandingFolder>
): Effect.fn.Return<Site, never, Scope.Scope> {
  const folder = join(yield* temporaryFolder, "uploads")
  mkdirSync(folder)
  return {
    landing: yield* Effect.provide(LandingFolder, layer),
    folder,
    names: () => readdirSync(folder),
    read: (path) => new Uint8Array(readFileSync(path)),
    write: (name, bytes) => writeFileSync(join(folder, name), bytes)
  }
})

const nodeSite = makeNodeSite(NodeLandingFolder.layer)

/** A site on a file system without hard links. */
const linklessSite = makeNodeSite(
  NodeLandingFolder.layerWithLinks(() => Promise.reject(Object.assign(new Error("no links"), { code: "EPERM" })))
)

const bytes = (...values: ReadonlyArray<number>) => new Uint8Array(values)

/** Declares tests that begin with a site. */
const onSite = (makeSite: Effect.Effect<Site, never, Scope.Scope>) => (title: string, body: TestBody<Site>) =>
  liveWith(makeSite)(title, body)

/** The contract of every {@link LandingFolder}. */
const contract = (name: string, makeSite: Effect.Effect<Site, never, Scope.Scope>) => {
  const live = onSite(makeSite)
  describe(name, () => {
    live("writes a file under its name only when it is finished", function* ({ folder, landing, names, read }) {
      const part = yield* landing.openPart(folder)
      yield* part.append(bytes(1, 2))
      yield* part.append(bytes(3))
      assert.notInclude(names(), "a.bin")
      const path = yield* part.finish("a.bin")
      assert.strictEqual(path, `${folder}/a.bin`)
      assert.deepStrictEqual(names(), ["a.bin"])
      assert.deepStrictEqual(read(path), bytes(1, 2, 3))
    })

    live("takes a free name where the name is taken", function* ({ folder, landing, read, write }) {
      write("a.bin", bytes(9))
      const paths: Array<string> = []
      for (const value of [1, 2]) {
        const part = yield* landing.openPart(folder)
        yield* part.append(bytes(value))
        paths.push(yield* part.finish("a.bin"))
      }
      assert.deepStrictEqual(paths, [`${folder}/a (2).bin`, `${folder}/a (3).bin`])
      assert.deepStrictEqual(read(`${folder}/a.bin`), bytes(9))
      assert.deepStrictEqual(paths.map(read), [bytes(1), bytes(2)])
    })

    live("leaves nothing of a discarded part", function* ({ folder, landing, names }) {
      const part = yield* landing.openPart(folder)
      yield* part.append(bytes(1))
      yield* part.discard
      yield* part.discard
      assert.deepStrictEqual(names(), [])
    })

    live("keeps a finished file that is discarded", function* ({ folder, landing, names }) {
      const part = yield* landing.openPart(folder)
      yield* part.append(bytes(1))
      yield* part.finish("a.bin")
      yield* part.discard
      assert.deepStrictEqual(names(), ["a.bin"])
    })

    live("collects the parts of an earlier run and nothing else", function* ({ folder, landing, names, write }) {
      write("mine.part", bytes(1))
      write("a.bin", bytes(1))
      const abandoned = yield* landing.openPart(folder)
      yield* abandoned.append(bytes(1))
      assert.strictEqual(yield* landing.collectOrphans(folder), 1)
      assert.sameMembers([...names()], ["mine.part", "a.bin"])
      yield* abandoned.discard
    })

    live("fails to finish a part that is gone", function* ({ folder, landing, names }) {
      const part = yield* landing.openPart(folder)
      yield* part.append(bytes(1))
      yield* landing.collectOrphans(folder)
      assert.strictEqual((yield* Effect.flip(part.finish("a.bin")))._tag, "LandingFailed")
      assert.deepStrictEqual(names(), [])
    })
  })
}

contract("MemoryLandingFolder", memorySite)
contract("NodeLandingFolder", nodeSite)
contract("NodeLandingFolder without hard links", linklessSite)

describe("NodeLandingFolder", () => {
  const live = onSite(nodeSite)

  live("writes files that only the owner can access", function* ({ folder, landing }) {
    const part = yield* landing.openPart(folder)
    assert.strictEqual(statSync(join(folder, readdirSync(folder)[0] ?? "")).mode & 0o777, 0o600)
    assert.strictEqual(statSync(yield* part.finish("a")).mode & 0o777, 0o600)
  })

  live("creates a missing folder, for the owner alone", function* ({ folder, landing }) {
    const inner = join(folder, "new", "inner")
    assert.strictEqual(yield* landing.collectOrphans(inner), 0)
    const part = yield* landing.openPart(inner)
    yield* part.finish("a")
    assert.strictEqual(statSync(inner).mode & 0o777, 0o700)
  })

  live("states the real path of a linked folder", function* ({ folder, landing }) {
    const alias = join(dirname(folder), "alias")
    symlinkSync(folder, alias)
    const part = yield* landing.openPart(alias)
    assert.strictEqual(yield* part.finish("a"), join(folder, "a"))
  })

  live("never writes through a symbolic link", function* ({ folder, landing }) {
    const victim = join(dirname(folder), "victim")
    symlinkSync(victim, join(folder, "a"))
    const part = yield* landing.openPart(folder)
    yield* part.append(bytes(1))
    assert.strictEqual(yield* part.finish("a"), join(folder, "a (2)"))
    assert.throws(() => lstatSync(victim))
    assert.isTrue(lstatSync(join(folder, "a")).isSymbolicLink())
  })

  live("fails with the path when the folder is a file", function* ({ folder, landing }) {
    const file = join(folder, "file")
    writeFileSync(file, "")
    const { message } = yield* Effect.flip(landing.openPart(file))
    assert.include(message, file)
    assert.include((yield* Effect.flip(landing.collectOrphans(file))).message, file)
  })
})
