import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { type BlobOptions, completeSkillFile, readBlob, restoreBlobs } from "../../../src/application/agent/blobs.ts"
import { blobNotAccessible } from "../../../src/domain/blobs/blobErrors.ts"
import type { BlobChunk } from "../../../src/domain/model/messages/requests.ts"
import type { ToolResult } from "../../../src/domain/model/ToolResult.ts"

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** The chunk of a content at an offset. */
const chunkOf = (bytes: Uint8Array, chunkOffset: number, step: number): BlobChunk => {
  const part = bytes.subarray(chunkOffset, chunkOffset + step)
  return {
    blobHandle: "h",
    mimeType: "image/png",
    totalSize: bytes.length,
    sha256: sha256Of(bytes),
    chunkOffset,
    eof: chunkOffset + part.length === bytes.length,
    blob: Buffer.from(part).toString("base64")
  }
}

const content = new Uint8Array(30).map((_, index) => index)
const changed = content.toReversed()

/** A Computer whose content is the one that `current` gives for the number of each request, from 0. */
const changing = (current: (request: number) => Uint8Array) => {
  const offsets: Array<number> = []
  const readChunk = (offset: number) =>
    Effect.suspend(() => {
      const bytes = current(offsets.length)
      offsets.push(offset)
      return offset > bytes.length
        ? Effect.fail(blobNotAccessible("range"))
        : Effect.succeed(chunkOf(bytes, offset, 10))
    })
  return { offsets, readChunk }
}

/** The reason of a failure, and its message. */
const failureOf = <A, E extends { readonly message: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => [Object(error).reason, error.message])

describe("blob", () => {
  it.effect.prop("is read in chunks of any length", [Schema.Uint8Array, Schema.Natural], ([bytes, step]) =>
    Effect.gen(function* () {
      const blob = yield* readBlob((offset) => Effect.succeed(chunkOf(bytes, offset, step + 1)))
      const { length: totalSize } = bytes
      assert.deepStrictEqual(blob, { bytes, mimeType: "image/png", totalSize, sha256: sha256Of(bytes) })
    })
  )

  it.effect("is read from its start again when its content changes", () =>
    Effect.gen(function* () {
      const { offsets, readChunk } = changing((request) => (request < 2 ? content : changed))
      assert.deepStrictEqual((yield* readBlob(readChunk)).bytes, changed)
      assert.deepStrictEqual(offsets, [0, 10, 20, 0, 10, 20])
    })
  )

  it.effect("is read from its start again when it becomes shorter", () =>
    Effect.gen(function* () {
      const short = content.subarray(0, 5)
      const { readChunk } = changing((request) => (request < 2 ? content : short))
      assert.deepStrictEqual((yield* readBlob(readChunk)).bytes, short)
    })
  )

  it.effect("is not read forever while it changes", () =>
    Effect.gen(function* () {
      const { offsets, readChunk } = changing((request) => new Uint8Array(30).fill(request))
      assert.deepStrictEqual(yield* failureOf(readBlob(readChunk)), [
        "changed",
        "The blob changed during every attempt to read it"
      ])
      assert.lengthOf(offsets, 8)
    })
  )

  const contradiction = "The chunks of the blob contradict each other"
  const faults: ReadonlyArray<readonly [string, Partial<BlobChunk>, string]> = [
    ["another hash than stated", { sha256: "0".repeat(64) }, "The blob does not have the stated hash"],
    ["a chunk that is not base64", { blob: "no base64!" }, "A chunk of the blob is not base64"],
    ["a chunk at another offset", { chunkOffset: 3 }, contradiction],
    ["a chunk without content", { blob: "" }, contradiction],
    ["more content than stated", { totalSize: 5 }, contradiction]
  ]

  for (const [title, fault, message] of faults) {
    it.effect(`is rejected with ${title}`, () =>
      Effect.gen(function* () {
        const readChunk = (offset: number) => Effect.succeed({ ...chunkOf(content, offset, 10), ...fault })
        assert.deepStrictEqual(yield* failureOf(readBlob(readChunk)), ["integrity", message])
      })
    )
  }

  it.effect("is rejected above the maximum size after one chunk", () =>
    Effect.gen(function* () {
      const { offsets, readChunk } = changing(() => content)
      assert.deepStrictEqual(yield* failureOf(readBlob(readChunk, { maxBytes: 29 })), [
        "too_large",
        "The blob has 30 bytes, more than the 29 allowed"
      ])
      assert.lengthOf(offsets, 1)
      yield* readBlob(readChunk, { maxBytes: 30 })
    })
  )

  it.effect("is rejected when it is not complete in time", () =>
    Effect.gen(function* () {
      const readChunk = (offset: number) => Effect.delay(Effect.succeed(chunkOf(content, offset, 10)), "4 seconds")
      const reading = yield* Effect.forkChild(failureOf(readBlob(readChunk, { timeout: 10 })))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Fiber.join(reading), ["timeout", "The blob was not read within 10 seconds"])
    })
  )

  it.effect("fails with the error of its Computer, also for a later chunk", () =>
    Effect.gen(function* () {
      const gone = blobNotAccessible("gone")
      let requests = 0
      const readChunk = (offset: number) =>
        Effect.suspend(() => (requests++ === 0 ? Effect.succeed(chunkOf(content, offset, 10)) : Effect.fail(gone)))
      assert.strictEqual(yield* Effect.flip(readBlob(readChunk)), gone)
      assert.strictEqual(requests, 2)
      const failed = yield* Effect.flip(readBlob(() => Effect.fail(blobNotAccessible("gone"))))
      assert.deepInclude(failed, { code: 4018, details: { reason: "gone" } })
    })
  )

  it.effect("requests no further chunk after an interruption", () =>
    Effect.gen(function* () {
      let requests = 0
      const readChunk = (offset: number) =>
        Effect.delay(
          Effect.sync(() => {
            requests++
            return chunkOf(content, offset, 10)
          }),
          "1 second"
        )
      const reading = yield* Effect.forkChild(readBlob(readChunk))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(reading)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(requests, 1)
    })
  )
})

describe("result with blobs", () => {
  const block = (handle: string, bytes: Uint8Array) => ({
    type: "image" as const,
    data: "",
    mimeType: "image/png",
    _meta: { a2c_blob_handle: handle, a2c_total_size: bytes.length, a2c_sha256: sha256Of(bytes) }
  })
  const result = (...content: ToolResult["content"]): ToolResult => ({ content, isError: false })
  const stored = (bytes: Uint8Array) => ({ bytes, mimeType: "x/y", totalSize: bytes.length, sha256: sha256Of(bytes) })
  const restored = (bytes: Uint8Array) => ({
    type: "image" as const,
    data: Buffer.from(bytes).toString("base64"),
    mimeType: "image/png"
  })

  it.effect("gets all its data back", () =>
    Effect.gen(function* () {
      const text = { type: "text" as const, text: "t" }
      const read = (handle: string) => Effect.succeed(stored(handle === "1" ? content : changed))
      const complete = yield* restoreBlobs(result(block("1", content), text, block("2", changed)), read, 60)
      assert.deepStrictEqual(complete, result(restored(content), text, restored(changed)))
    })
  )

  it.effect("keeps the handles of blobs that cannot be read", () =>
    Effect.gen(function* () {
      const read = (handle: string) =>
        handle === "1" ? Effect.fail(blobNotAccessible("gone")) : Effect.succeed(stored(content))
      const given = result(block("1", content), block("2", content))
      const complete = yield* restoreBlobs(given, read, 60)
      assert.deepStrictEqual(complete, result(block("1", content), restored(content)))
    })
  )

  it.effect("keeps the handle of a blob with another hash", () =>
    Effect.gen(function* () {
      const given = result(block("1", content))
      assert.deepStrictEqual(yield* restoreBlobs(given, () => Effect.succeed(stored(changed)), 60), given)
    })
  )

  it.effect("shares time and size among its blobs", () =>
    Effect.gen(function* () {
      const limits: Array<BlobOptions> = []
      const read = (_: string, options: BlobOptions) =>
        Effect.delay(
          Effect.sync(() => {
            limits.push(options)
            return stored(content)
          }),
          "4 seconds"
        )
      const given = result(block("1", content), block("2", content), block("3", content))
      const reading = yield* Effect.forkChild(restoreBlobs(given, read, 8))
      yield* TestClock.adjust("1 minute")
      const complete = yield* Fiber.join(reading)
      assert.deepStrictEqual(complete, result(restored(content), restored(content), block("3", content)))
      const [first, second] = limits
      assert.deepStrictEqual([first?.timeout, second?.timeout], [8, 4])
      assert.strictEqual((first?.maxBytes ?? 0) - (second?.maxBytes ?? 0), content.length)
    })
  )

  it.effect("is unchanged without handles", () =>
    Effect.gen(function* () {
      const given = result(restored(content))
      assert.strictEqual(yield* restoreBlobs(given, () => Effect.die("read"), 60), given)
    })
  )
})

describe("file of a skill", () => {
  const text = "# Grüße"
  const bytes = new Uint8Array(Buffer.from(text))
  const file = {
    name: "s",
    relPath: "SKILL.md",
    mimeType: "text/markdown",
    totalSize: bytes.length,
    sha256: sha256Of(bytes)
  }

  it.effect("is the text of the reply", () =>
    Effect.gen(function* () {
      const read = yield* completeSkillFile({ ...file, body: text }, () => Effect.die("read"))
      assert.deepStrictEqual(read, { ...file, text, bytes })
    })
  )

  it.effect("is rejected when its text has another hash", () =>
    Effect.gen(function* () {
      const read = completeSkillFile({ ...file, body: "other" }, () => Effect.die("read"))
      assert.deepStrictEqual(yield* failureOf(read), ["integrity", "The file does not have the stated hash"])
    })
  )

  it.effect("is the content of its blob, as text where it is UTF-8", () =>
    Effect.gen(function* () {
      const blob = { mimeType: "text/markdown", totalSize: bytes.length, sha256: sha256Of(bytes) }
      const read = yield* completeSkillFile({ ...file, blobHandle: "h" }, () => Effect.succeed({ ...blob, bytes }))
      assert.deepStrictEqual(read, { ...file, text, bytes })
      const binary = new Uint8Array([255, 0])
      const other = { bytes: binary, mimeType: "x/y", totalSize: 2, sha256: sha256Of(binary) }
      const raw = yield* completeSkillFile({ ...file, blobHandle: "h" }, () => Effect.succeed(other))
      assert.deepInclude(raw, { text: undefined, bytes: binary, sha256: sha256Of(binary), totalSize: 2 })
    })
  )

  it.effect("is rejected without text and blob", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* failureOf(completeSkillFile(file, () => Effect.die("read"))), [
        "integrity",
        "The reply has neither a text nor a blob"
      ])
    })
  )
})
