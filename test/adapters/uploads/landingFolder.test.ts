import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, type Scope } from "effect"
import { makeMemoryLandingFolder } from "../../../src/adapters/memory/MemoryLandingFolder.ts"
import * as NodeLandingFolder from "../../../src/adapters/uploads/NodeLandingFolder.ts"
import { LandingFolder } from "../../../src/application/ports/files/LandingFolder.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

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

/** The contract of every {@link LandingFolder}. */
const contract = (name: string, makeSite: Effect.Effect<Site, never, Scope.Scope>) => {
  const site = (title: string, body: (site: Site) => Effect.Effect<void, unknown, Scope.Scope>) =>
    it.live(title, () => Effect.scoped(Effect.flatMap(makeSite, body)))

  describe(name, () => {
    site("writes a file under its name only when it is finished", ({ folder, landing, names, read }) =>
      Effect.gen(function* () {
        const part = yield* landing.openPart(folder)
        yield* part.append(bytes(1, 2))
        yield* part.append(bytes(3))
        assert.notInclude(names(), "a.bin")
        const path = yield* part.finish("a.bin")
        assert.strictEqual(path, `${folder}/a.bin`)
        assert.deepStrictEqual(names(), ["a.bin"])
        assert.deepStrictEqual(read(path), bytes(1, 2, 3))
      })
    )

    site("takes a free name where the name is taken", ({ folder, landing, read, write }) =>
      Effect.gen(function* () {
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
    )

    site("leaves nothing of a discarded part", ({ folder, landing, names }) =>
      Effect.gen(function* () {
        const part = yield* landing.openPart(folder)
        yield* part.append(bytes(1))
        yield* part.discard
        yield* part.discard
        assert.deepStrictEqual(names(), [])
      })
    )

    site("keeps a finished file that is discarded", ({ folder, landing, names }) =>
      Effect.gen(function* () {
        const part = yield* landing.openPart(folder)
        yield* part.append(bytes(1))
        yield* part.finish("a.bin")
        yield* part.discard
        assert.deepStrictEqual(names(), ["a.bin"])
      })
    )

    site("collects the parts of an earlier run and nothing else", ({ folder, landing, names, write }) =>
      Effect.gen(function* () {
        write("mine.part", bytes(1))
        write("a.bin", bytes(1))
        const abandoned = yield* landing.openPart(folder)
        yield* abandoned.append(bytes(1))
        assert.strictEqual(yield* landing.collectOrphans(folder), 1)
        assert.sameMembers([...names()], ["mine.part", "a.bin"])
        yield* abandoned.discard
      })
    )

    site("fails to finish a part that is gone", ({ folder, landing, names }) =>
      Effect.gen(function* () {
        const part = yield* landing.openPart(folder)
        yield* part.append(bytes(1))
        yield* landing.collectOrphans(folder)
        assert.strictEqual((yield* Effect.flip(part.finish("a.bin")))._tag, "LandingFailed")
        assert.deepStrictEqual(names(), [])
      })
    )
  })
}

contract("MemoryLandingFolder", memorySite)
contract("NodeLandingFolder", nodeSite)
contract("NodeLandingFolder without hard links", linklessSite)

describe("NodeLandingFolder", () => {
  const node = (title: string, body: (site: Site) => Effect.Effect<void, unknown, Scope.Scope>) =>
    it.live(title, () => Effect.scoped(Effect.flatMap(nodeSite, body)))

  node("writes files that only the owner can access", ({ folder, landing }) =>
    Effect.gen(function* () {
      const part = yield* landing.openPart(folder)
      assert.strictEqual(statSync(join(folder, readdirSync(folder)[0] ?? "")).mode & 0o777, 0o600)
      assert.strictEqual(statSync(yield* part.finish("a")).mode & 0o777, 0o600)
    })
  )

  node("creates a missing folder, for the owner alone", ({ folder, landing }) =>
    Effect.gen(function* () {
      const inner = join(folder, "new", "inner")
      assert.strictEqual(yield* landing.collectOrphans(inner), 0)
      const part = yield* landing.openPart(inner)
      yield* part.finish("a")
      assert.strictEqual(statSync(inner).mode & 0o777, 0o700)
    })
  )

  node("states the real path of a linked folder", ({ folder, landing }) =>
    Effect.gen(function* () {
      const alias = join(dirname(folder), "alias")
      symlinkSync(folder, alias)
      const part = yield* landing.openPart(alias)
      assert.strictEqual(yield* part.finish("a"), join(folder, "a"))
    })
  )

  node("never writes through a symbolic link", ({ folder, landing }) =>
    Effect.gen(function* () {
      const victim = join(dirname(folder), "victim")
      symlinkSync(victim, join(folder, "a"))
      const part = yield* landing.openPart(folder)
      yield* part.append(bytes(1))
      assert.strictEqual(yield* part.finish("a"), join(folder, "a (2)"))
      assert.throws(() => lstatSync(victim))
      assert.isTrue(lstatSync(join(folder, "a")).isSymbolicLink())
    })
  )

  node("fails with the path when the folder is a file", ({ folder, landing }) =>
    Effect.gen(function* () {
      const file = join(folder, "file")
      writeFileSync(file, "")
      const { message } = yield* Effect.flip(landing.openPart(file))
      assert.include(message, file)
      assert.include((yield* Effect.flip(landing.collectOrphans(file))).message, file)
    })
  )
})
