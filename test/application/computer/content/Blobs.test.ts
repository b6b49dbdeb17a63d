import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { BlobSource } from "../../../../src/application/computer/content/Blobs.ts"
import { type Blobs, makeBlobs } from "../../../../src/application/computer/content/Blobs.ts"
import { binaryDataOf, referenceOf } from "../../../../src/domain/blobs/binaryContent.ts"
import { type OfficeCaller, officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import { blobNotAccessible } from "../../../../src/domain/blobs/blobErrors.ts"
import { formatBlobHandle, parseBlobHandle } from "../../../../src/domain/blobs/blobHandle.ts"
import type { ToolResult } from "../../../../src/domain/model/ToolResult.ts"

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const noSkills = () => Effect.fail(blobNotAccessible("invalid_handle"))

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

const pictures = (...contents: ReadonlyArray<Uint8Array>): ToolResult => ({
  content: contents.map((bytes) => ({ type: "image", data: base64(bytes), mimeType: "image/png" })),
  isError: false
})

/** Moves the contents to blobs and gives their handles. */
const handlesOf = (blobs: Blobs, ...contents: ReadonlyArray<Uint8Array>) =>
  Effect.map(blobs.externalize(pictures(...contents), caller, 0), ({ content }) =>
    content.map((block) => referenceOf(block)?.handle ?? assert.fail("no handle"))
  )

const caller = officeCaller("a", 1, true)

const target = { agent: "a", computer: "pc", reqId: "r", chunkOffset: 0 }

/** Reads all chunks of a blob. */
const readAll = Effect.fnUntraced(function* (blobs: Blobs, blobHandle: string, maxChunkBytes: number) {
  const parts: Array<Buffer> = []
  for (let chunkOffset = 0; ; ) {
    const chunk = yield* blobs.getBlob(
      { ...target, blobHandle, chunkOffset, maxChunkBytes },
      caller,
      Number.POSITIVE_INFINITY
    )
    const part = Buffer.from(chunk.blob, "base64")
    assert.isAtMost(part.length, maxChunkBytes)
    parts.push(part)
    chunkOffset += part.length
    if (chunk.eof) return { chunk, bytes: new Uint8Array(Buffer.concat(parts)), chunks: parts.length }
  }
})

/** The code and the reason of a failed request for a blob. */
const failureOf = (blobs: Blobs, blobHandle: string, more: object = {}, by: OfficeCaller = caller) =>
  Effect.map(
    Effect.flip(blobs.getBlob({ ...target, blobHandle, ...more }, by, Number.POSITIVE_INFINITY)),
    ({ code, details }) => [code, details?.["reason"]]
  )

const pixels = new Uint8Array(100).map((_, index) => index)

describe("binary data of a result", () => {
  it.effect.prop("arrives in chunks of any size as it was", [Schema.Uint8Array, Schema.Natural], ([bytes, step]) =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const content = new Uint8Array([7, ...bytes])
      const [handle = ""] = yield* handlesOf(blobs, content)
      const read = yield* readAll(blobs, handle, step + 1)
      assert.deepStrictEqual(read.bytes, content)
      assert.deepInclude(read.chunk, {
        blobHandle: handle,
        mimeType: "image/png",
        totalSize: content.length,
        sha256: sha256Of(content),
        reqId: "r"
      })
      assert.strictEqual(read.chunks, Math.ceil(content.length / (step + 1)))
    })
  )

  it.effect("stays up to the budget, and becomes a blob above it", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const result = pictures(pixels, new Uint8Array(101))
      const { content } = yield* blobs.externalize(result, caller, 100)
      assert.strictEqual(content[0], result.content[0])
      assert.deepInclude(content[1], { data: "", mimeType: "image/png" })
      assert.deepInclude(content[1]?.["_meta"], { a2c_total_size: 101, a2c_sha256: sha256Of(new Uint8Array(101)) })
      assert.strictEqual(yield* blobs.externalize(result, caller, 101), result)
    })
  )

  it.effect("stays when it is not base64, or above the limit of all content", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills, maxBytes: 99 })
      const broken: ToolResult = { content: [{ type: "image", data: "no base64!", mimeType: "x/y" }], isError: false }
      assert.strictEqual(yield* blobs.externalize(broken, caller, 0), broken)
      const large = pictures(pixels)
      assert.strictEqual(yield* blobs.externalize(large, caller, 0), large)
    })
  )

  it.effect.each(
    [
      officeCaller("b", 1, true),
      officeCaller("A", 1, true),
      officeCaller("operator:a", 1, true),
      officeCaller("", 1, true)
    ].map((by) => [by])
  )("is no content for another caller: %o", ([by]) =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const [handle = ""] = yield* handlesOf(blobs, pixels)
      assert.deepStrictEqual(yield* failureOf(blobs, handle, {}, by), [4018, "forbidden"])
      // The body of the request does not decide.
      assert.deepStrictEqual(yield* failureOf(blobs, handle, { agent: "a" }, by), [4018, "forbidden"])
    })
  )

  it.effect("is readable by a later membership of its caller, which has the handle", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const [blobHandle = ""] = yield* handlesOf(blobs, pixels)
      const { eof } = yield* blobs.getBlob(
        { ...target, blobHandle },
        officeCaller("a", 2, true),
        Number.POSITIVE_INFINITY
      )
      assert.isTrue(eof)
    })
  )

  it.effect("has no chunk beyond its end", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const [handle = ""] = yield* handlesOf(blobs, pixels)
      assert.deepStrictEqual(yield* failureOf(blobs, handle, { chunkOffset: 101 }), [4018, "range"])
    })
  )

  it.effect("comes in chunks whose messages fit, or not at all", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const content = new Uint8Array(5000)
      const [blobHandle = ""] = yield* handlesOf(blobs, content)
      const chunk = yield* blobs.getBlob({ ...target, blobHandle }, caller, 2000)
      assert.isFalse(chunk.eof)
      assert.isAtMost(JSON.stringify(chunk).length, 2000)
      assert.strictEqual((yield* Effect.flip(blobs.getBlob({ ...target, blobHandle }, caller, 100))).code, 413)
      const whole = yield* blobs.getBlob({ ...target, blobHandle }, caller, Number.POSITIVE_INFINITY)
      assert.isTrue(whole.eof)
    })
  )

  it.effect("comes in chunks of 256 KiB at most", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const [blobHandle = ""] = yield* handlesOf(blobs, new Uint8Array(300 * 1024))
      const request = { ...target, blobHandle, maxChunkBytes: 1024 * 1024 }
      const { blob, eof } = yield* blobs.getBlob(request, caller, Number.POSITIVE_INFINITY)
      assert.deepStrictEqual([Buffer.from(blob, "base64").length, eof], [256 * 1024, false])
    })
  )
})

describe("handle of a blob", () => {
  it.effect("is invalid when it is forged", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const [handle = ""] = yield* handlesOf(blobs, pixels)
      const parsed = parseBlobHandle(handle)
      assert.strictEqual(parsed?.channel, "result")
      const id = parsed?.channel === "result" ? parsed.id : ""
      const otherNumber = id.replace(/^\d+/, "1")
      const forged = ["", "h", "0", id.split(".", 1)[0] ?? "", otherNumber, `${id}0`].map((one) =>
        formatBlobHandle({ channel: "result", computer: "pc", id: one })
      )
      for (const one of ["", "nonsense", ...forged]) {
        assert.deepStrictEqual(yield* failureOf(blobs, one), [4018, "invalid_handle"])
      }
    })
  )

  it.effect("is invalid at another Computer, and at another run of the same one", () =>
    Effect.gen(function* () {
      const [handle = ""] = yield* handlesOf(makeBlobs({ computer: "pc-2", readSkill: noSkills }), pixels)
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      assert.deepStrictEqual(yield* failureOf(blobs, handle), [4018, "invalid_handle"])
      const again = makeBlobs({ computer: "pc-2", readSkill: noSkills })
      assert.deepStrictEqual(yield* failureOf(again, handle), [4018, "invalid_handle"])
    })
  )
})

describe("file of a skill", () => {
  const handle = formatBlobHandle({ channel: "skill", computer: "pc", name: "s", relPath: "a.bin" })
  const file: BlobSource = {
    mimeType: "application/pdf",
    totalSize: pixels.length,
    sha256: sha256Of(pixels),
    read: (offset, length) => Effect.succeed(pixels.subarray(offset, offset + length))
  }

  it.effect("is read by its name and path", () =>
    Effect.gen(function* () {
      const opened: Array<readonly [string, string]> = []
      const readSkill = (name: string, relPath: string) =>
        Effect.sync(() => {
          opened.push([name, relPath])
          return file
        })
      const { bytes, chunk } = yield* readAll(makeBlobs({ computer: "pc", readSkill }), handle, 1000)
      assert.deepStrictEqual(bytes, pixels)
      assert.strictEqual(chunk.mimeType, "application/pdf")
      assert.deepStrictEqual(opened, [["s", "a.bin"]])
    })
  )

  const shorter = { ...file, read: () => Effect.succeed(pixels.subarray(0, 10)) }

  it.effect.each<[string, string, ReturnType<Parameters<typeof makeBlobs>[0]["readSkill"]>, string]>([
    ["has an invalid handle at another Computer", "pc-2", Effect.succeed(file), "invalid_handle"],
    ["is gone when it has become shorter", "pc", Effect.succeed(shorter), "gone"],
    ["fails as its skill does", "pc", Effect.fail(blobNotAccessible("forbidden")), "forbidden"]
  ])("%s", ([, computer, found, reason]) =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer, readSkill: () => found })
      assert.deepStrictEqual(yield* failureOf(blobs, handle), [4018, reason])
    })
  )

  it.effect("is one empty chunk when it has no bytes", () =>
    Effect.gen(function* () {
      const empty = { ...file, totalSize: 0, read: () => Effect.succeed(new Uint8Array()) }
      const blobs = makeBlobs({ computer: "pc", readSkill: () => Effect.succeed(empty) })
      const { bytes, chunks } = yield* readAll(blobs, handle, 10)
      assert.deepStrictEqual([bytes.length, chunks], [0, 1])
    })
  )
})

describe("embedded resource", () => {
  it.effect("becomes a blob by its blob member", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills })
      const resource = { uri: "f://1", mimeType: "a/b", blob: base64(pixels) }
      const { content } = yield* blobs.externalize(
        { content: [{ type: "resource", resource }], isError: false },
        caller,
        0
      )
      const [block] = content
      assert.deepStrictEqual(block && binaryDataOf(block), { base64: "", mimeType: "a/b" })
      const { bytes, chunk } = yield* readAll(blobs, (block && referenceOf(block)?.handle) ?? "", 1000)
      assert.deepStrictEqual([bytes, chunk.mimeType], [pixels, "a/b"])
    })
  )
})

describe("the kept content of results", () => {
  const content = (first: number, length: number) => new Uint8Array(length).fill(first)

  it.effect("has the total size that is allowed, and drops the oldest for one byte more", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills, maxBytes: 100 })
      const [one = "", two = ""] = yield* handlesOf(blobs, content(1, 60), content(2, 40))
      assert.strictEqual((yield* readAll(blobs, one, 100)).bytes.length, 60)
      const [three = ""] = yield* handlesOf(blobs, content(3, 1))
      assert.deepStrictEqual(yield* failureOf(blobs, one), [4018, "gone"])
      assert.strictEqual((yield* readAll(blobs, two, 100)).bytes.length, 40)
      assert.strictEqual((yield* readAll(blobs, three, 100)).bytes.length, 1)
    })
  )

  it.effect("has the number that is allowed, and drops the oldest for one more", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills, maxCount: 2 })
      const [one = "", two = ""] = yield* handlesOf(blobs, content(1, 1), content(2, 1))
      assert.strictEqual((yield* readAll(blobs, one, 100)).bytes.length, 1)
      yield* handlesOf(blobs, content(3, 1))
      assert.deepStrictEqual(yield* failureOf(blobs, one), [4018, "gone"])
      assert.strictEqual((yield* readAll(blobs, two, 100)).bytes.length, 1)
    })
  )

  it.effect("has other handles than what was evicted, and than what is kept", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills, maxCount: 2 })
      const sizes = [1, 2, 3, 4, 5]
      const handles = yield* handlesOf(blobs, ...sizes.map((size) => content(size, size)))
      assert.lengthOf([...new Set(handles)], sizes.length)
      yield* blobs.clear
      const later = yield* handlesOf(blobs, content(6, 6), content(7, 7))
      for (const handle of handles) assert.deepStrictEqual(yield* failureOf(blobs, handle), [4018, "gone"])
      const read = yield* Effect.forEach(later, (handle) => readAll(blobs, handle, 100))
      const lengths = read.map(({ bytes }) => bytes.length)
      assert.deepStrictEqual(lengths, [6, 7])
    })
  )

  it.effect("has its whole size again after it was dropped", () =>
    Effect.gen(function* () {
      const blobs = makeBlobs({ computer: "pc", readSkill: noSkills, maxBytes: 100 })
      yield* handlesOf(blobs, content(1, 100))
      yield* blobs.clear
      const [one = "", two = ""] = yield* handlesOf(blobs, content(1, 60), content(2, 40))
      assert.strictEqual((yield* readAll(blobs, one, 100)).bytes.length, 60)
      assert.strictEqual((yield* readAll(blobs, two, 100)).bytes.length, 40)
    })
  )
})
