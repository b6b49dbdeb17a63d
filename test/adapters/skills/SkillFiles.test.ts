import { mkdirSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { Tar } from "effect/encoding"
import { makeMemorySkillFiles } from "./MemorySkillFiles.ts"
import * as NodeSkillFiles from "../../../src/adapters/skills/NodeSkillFiles.ts"
import { SkillFiles } from "../../../src/application/ports/files/SkillFiles.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { tarGzOf } from "./archives.ts"
import { testSkillFiles } from "./contract.ts"

const nodeWorld = Effect.map(temporaryFolder, (outer) => {
  const folder = join(outer, "files")
  mkdirSync(folder)
  const prepared = (path: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    return join(folder, path)
  }
  return {
    folder,
    layer: NodeSkillFiles.layer({ stagingParent: join(outer, "staging") }),
    write: (path: string, content: string | Uint8Array) => Effect.sync(() => writeFileSync(prepared(path), content)),
    link: (path: string, target: string) => Effect.sync(() => symlinkSync(target, prepared(path))),
    remove: (path: string) => Effect.sync(() => rmSync(join(folder, path), { recursive: true }))
  }
})

testSkillFiles("Node", nodeWorld)

testSkillFiles(
  "memory",
  Effect.map(makeMemorySkillFiles, ({ layer, link, remove, write }) => ({
    layer,
    folder: "/files",
    write: (path, content) => write(`/files/${path}`, content),
    link: (path, target) => link(`/files/${path}`, target),
    remove: (path) => remove(`/files/${path}`)
  }))
)

describe("file system of this host", () => {
  it.effect("stages skills for this user only, with executable scripts, until the layer ends", () =>
    Effect.gen(function* () {
      const outer = yield* temporaryFolder
      const scope = yield* Scope.make()
      const context = yield* Scope.provide(Layer.build(NodeSkillFiles.layer({ stagingParent: outer })), scope)
      const bytes = yield* tarGzOf([Tar.file("SKILL.md", "1"), Tar.file("run.sh", "2", { mode: 0o755 })])
      const root = yield* Context.get(context, SkillFiles).stage("alpha", "pdf", {
        _tag: "Archive",
        format: "tar.gz",
        bytes
      })
      const fixture = dirname(dirname(root))
      assert.strictEqual(dirname(fixture), outer)
      const modes = [fixture, dirname(root), root, join(root, "SKILL.md"), join(root, "run.sh")]
      assert.deepStrictEqual(
        modes.map((path) => statSync(path).mode & 0o777),
        [0o700, 0o700, 0o700, 0o600, 0o700]
      )
      yield* Scope.close(scope, Exit.void)
      assert.isUndefined(statSync(fixture, { throwIfNoEntry: false }))
    })
  )

  it.effect("stages nothing twice under names that the file system takes for one", () =>
    Effect.gen(function* () {
      const { layer } = yield* nodeWorld
      const files = [
        { path: "a", bytes: encodeUtf8("1") },
        { path: "a", bytes: encodeUtf8("2") }
      ]
      const { message } = yield* SkillFiles.use(({ stage: fixture }) =>
        Effect.flip(fixture("alpha", "pdf", { _tag: "Files", files }))
      ).pipe(Effect.provide(layer))
      assert.include(message, "EEXIST")
    })
  )

  it.effect("reports a folder that it cannot write as a failure", () =>
    Effect.gen(function* () {
      const outer = yield* temporaryFolder
      const parent = join(outer, "file")
      writeFileSync(parent, "")
      const { message } = yield* SkillFiles.use(({ stage: fixture }) =>
        Effect.flip(fixture("a", "b", { _tag: "Files", files: [] }))
      ).pipe(Effect.provide(NodeSkillFiles.layer({ stagingParent: parent })))
      assert.match(message, /EEXIST|ENOTDIR/)
    })
  )

  it.effect("takes a file for a missing folder", () =>
    Effect.gen(function* () {
      const { folder, layer, write } = yield* nodeWorld
      yield* write("file", "")
      const { reason } = yield* SkillFiles.use(({ listFolders }) =>
        Effect.flip(listFolders(join(folder, "file")))
      ).pipe(Effect.provide(layer))
      assert.strictEqual(reason, "not_found")
    })
  )

  it.effect("reads no file that was removed after it was opened", () =>
    Effect.gen(function* () {
      const { folder, layer, write } = yield* nodeWorld
      yield* write("file", "one")
      yield* Effect.gen(function* () {
        const { open } = yield* SkillFiles
        const file = yield* open(folder, "file")
        yield* write("other", "two")
        unlinkSync(join(folder, "file"))
        assert.strictEqual((yield* Effect.flip(file.read(0, 3))).reason, "changed")
      }).pipe(Effect.provide(layer))
    })
  )
})
