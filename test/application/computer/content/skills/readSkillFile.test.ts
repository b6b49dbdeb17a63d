import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { makeMemorySkillFiles } from "../../../../adapters/skills/MemorySkillFiles.ts"
import { makeSkillFileReader } from "../../../../../src/application/computer/content/skills/readSkillFile.ts"
import { SkillFileError, SkillFiles } from "../../../../../src/application/ports/files/SkillFiles.ts"
import { skillText } from "./skillFolders.ts"

const hashOf = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex")

/** A reader of the files below `/skill`, and the bytes that it has read. */
const reading = Effect.fnUntraced(function* (
  change: (files: SkillFiles["Service"]) => SkillFiles["Service"] = (files) => files
) {
  const { layer, remove, write } = yield* makeMemorySkillFiles
  const files = change(Context.get(yield* Layer.build(layer), SkillFiles))
  const seen = { bytes: 0 }
  const readFile = yield* makeSkillFileReader({
    ...files,
    open: (root, path) =>
      Effect.map(files.open(root, path), (file) => ({
        ...file,
        read: (offset, length) =>
          Effect.tap(file.read(offset, length), (bytes) => Effect.sync(() => void (seen.bytes += bytes.length)))
      }))
  })
  const read = (path: string) => readFile("/skill", { path, relPath: path })
  return { read, remove, seen, write: (path: string, content: string | Uint8Array) => write(`/skill/${path}`, content) }
})

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe("file of a skill in chunks", () => {
  it.effect("has the chunks of its content", () =>
    Effect.gen(function* () {
      const { read, write } = yield* reading()
      const content = "0123456789".repeat(10_000)
      yield* write("SKILL.md", skillText("a", "d", content))
      const source = yield* read("SKILL.md")
      assert.deepStrictEqual([source.totalSize, source.sha256], [content.length, hashOf(content)])
      const chunks = yield* Effect.forEach(
        [
          [0, 4],
          [99_995, 10],
          [100_000, 10],
          [200_000, 10]
        ] as const,
        ([offset, length]) => source.read(offset, length)
      )
      assert.deepStrictEqual(chunks.map(decode), ["0123", "56789", "", ""])
    })
  )

  it.effect("is hashed once for all of its chunks", () =>
    Effect.gen(function* () {
      const { read, seen, write } = yield* reading()
      const content = new Uint8Array(600_000).map((_, index) => index % 251)
      yield* write("a.bin", content)
      assert.strictEqual((yield* read("a.bin")).sha256, hashOf(content))
      assert.strictEqual(seen.bytes, 600_000)
      const source = yield* read("a.bin")
      yield* source.read(0, 1000)
      assert.deepStrictEqual([source.sha256, seen.bytes], [hashOf(content), 601_000])
    })
  )

  it.effect("has another hash after a change, and no chunks of the old content", () =>
    Effect.gen(function* () {
      const { read, write } = yield* reading()
      yield* write("a.bin", "one")
      const before = yield* read("a.bin")
      yield* write("a.bin", "two")
      const { code, details } = yield* Effect.flip(before.read(0, 3))
      assert.deepStrictEqual([code, details], [4018, { reason: "gone" }])
      const after = yield* read("a.bin")
      assert.deepStrictEqual([after.sha256, decode(yield* after.read(0, 3))], [hashOf("two"), "two"])
    })
  )

  it.effect("is gone after its removal", () =>
    Effect.gen(function* () {
      const { read, remove, write } = yield* reading()
      yield* write("a.bin", "one")
      const source = yield* read("a.bin")
      yield* remove("/skill/a.bin")
      assert.strictEqual((yield* Effect.flip(source.read(0, 3))).code, 4018)
      assert.deepStrictEqual((yield* Effect.flip(read("a.bin"))).details, { reason: "not_found", rel_path: "a.bin" })
    })
  )

  it.effect("has at most 100 MiB without its front matter", () =>
    Effect.gen(function* () {
      const { read, seen, write } = yield* reading()
      const max = 100 * 1024 * 1024
      yield* write("a.bin", new Uint8Array(max + 1))
      const { code, details } = yield* Effect.flip(read("a.bin"))
      assert.deepStrictEqual(
        [code, details, seen.bytes],
        [4017, { reason: "too_large", rel_path: "a.bin", total_size: max + 1 }, 0]
      )
    })
  )

  it.effect("is read again when it changes meanwhile, but not forever", () =>
    Effect.gen(function* () {
      let attempts = 0
      let failures = 2
      const { read, write } = yield* reading((files) => ({
        ...files,
        open: (root, path) =>
          Effect.suspend(() => {
            attempts++
            return failures-- > 0
              ? Effect.fail(new SkillFileError({ reason: "changed", message: "changed" }))
              : files.open(root, path)
          })
      }))
      yield* write("a.md", "text")
      assert.strictEqual((yield* read("a.md")).body, "text")
      failures = 10
      attempts = 0
      assert.deepStrictEqual((yield* Effect.flip(read("a.md"))).details, { reason: "io_error", rel_path: "a.md" })
      assert.strictEqual(attempts, 3)
    })
  )
})
