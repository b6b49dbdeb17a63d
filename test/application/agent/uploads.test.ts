import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { sendUpload, type UploadChunk } from "../../../src/application/agent/blobs.ts"
import { uploadRejected } from "../../../src/domain/blobs/blobErrors.ts"
import type { UploadReply } from "../../../src/domain/model/messages/requests.ts"

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const content = new Uint8Array(30).map((_, index) => index)

/** A Computer that accepts every upload; `change` alters its replies. */
const accepting = (change: (reply: UploadReply) => UploadReply = (reply) => reply) => {
  const chunks: Array<UploadChunk> = []
  const sendChunk = (chunk: UploadChunk) =>
    Effect.sync(() => {
      chunks.push(chunk)
      const reply = { uploadId: "u", chunkOffset: chunk.chunkOffset }
      return change(chunk.eof ? { ...reply, landingPath: "/uploads/a" } : reply)
    })
  return { chunks, sendChunk }
}

const bytesIn = (chunks: ReadonlyArray<UploadChunk>) =>
  new Uint8Array(Buffer.concat(chunks.map(({ blob }) => Buffer.from(blob, "base64"))))

describe("sendUpload", () => {
  it.effect.prop("sends all content once, in order", [Schema.Uint8Array, Schema.Natural], ([bytes, step]) =>
    Effect.gen(function* () {
      const whole = new Uint8Array([7, ...bytes])
      const { chunks, sendChunk } = accepting()
      const file = yield* sendUpload(sendChunk, whole, step + 1, {})
      assert.deepStrictEqual(file, {
        landingPath: "/uploads/a",
        totalSize: whole.length,
        sha256: sha256Of(whole)
      })
      assert.deepStrictEqual(bytesIn(chunks), whole)
      assert.deepStrictEqual(
        chunks.map(({ chunkOffset, eof }) => [chunkOffset, eof]),
        chunks.map((_, index) => [index * (step + 1), index === chunks.length - 1])
      )
    })
  )

  it.effect("declares the content in the first chunk, and names the upload in the others", () =>
    Effect.gen(function* () {
      const { chunks, sendChunk } = accepting()
      yield* sendUpload(sendChunk, content, 20, { nameHint: "a.bin" })
      const heads = chunks.map(({ blob: _, ...head }) => head)
      assert.deepStrictEqual(heads, [
        { totalSize: 30, sha256: sha256Of(content), nameHint: "a.bin", chunkOffset: 0, eof: false },
        { uploadId: "u", chunkOffset: 20, eof: true }
      ])
    })
  )

  it.effect("sends a chunk only after the reply to the previous one", () =>
    Effect.gen(function* () {
      const { chunks, sendChunk } = accepting()
      const sending = yield* Effect.forkChild(
        sendUpload((chunk) => Effect.delay(sendChunk(chunk), "1 second"), content, 10, {})
      )
      yield* TestClock.adjust("2 seconds")
      assert.lengthOf(chunks, 2)
      yield* Fiber.interrupt(sending)
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(chunks, 2)
    })
  )

  it.effect("waits while the Computer is busy", () =>
    Effect.gen(function* () {
      const { chunks, sendChunk } = accepting()
      let rejections = 3
      const busyFirst = (chunk: UploadChunk) =>
        Effect.suspend(() => (rejections-- > 0 ? Effect.fail(uploadRejected("busy")) : sendChunk(chunk)))
      const sending = yield* Effect.forkChild(sendUpload(busyFirst, content, 20, {}))
      yield* TestClock.adjust("300 millis")
      assert.lengthOf(chunks, 0)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(sending)
      assert.deepStrictEqual(bytesIn(chunks), content)
    })
  )

  it.effect("fails with 4019 when the Computer stays busy", () =>
    Effect.gen(function* () {
      let attempts = 0
      const busy = () =>
        Effect.suspend(() => {
          attempts++
          return Effect.fail(uploadRejected("busy"))
        })
      const sending = yield* Effect.forkChild(Effect.flip(sendUpload(busy, content, 20, {})))
      yield* TestClock.adjust("10 minutes")
      assert.deepInclude(yield* Fiber.join(sending), { code: 4019, details: { reason: "busy" } })
      assert.strictEqual(attempts, 11)
    })
  )

  it.effect("does not retry other rejections", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(sendUpload(() => Effect.fail(uploadRejected("forbidden")), content, 20, {}))
      assert.deepInclude(error, { code: 4019, details: { reason: "forbidden" } })
    })
  )

  const contradictions: ReadonlyArray<readonly [string, (reply: UploadReply) => UploadReply]> = [
    ["another offset", (reply) => ({ ...reply, chunkOffset: reply.chunkOffset + 1 })],
    ["another upload", (reply) => ({ ...reply, uploadId: `u${reply.chunkOffset}` })],
    ["no path at the end", ({ landingPath: _, ...reply }) => reply],
    ["another hash", (reply) => ({ ...reply, sha256: "0".repeat(64) })],
    ["another size", (reply) => ({ ...reply, totalSize: 31 })]
  ]

  for (const [title, change] of contradictions) {
    it.effect(`fails when the Computer acknowledges ${title}`, () =>
      Effect.gen(function* () {
        const { sendChunk } = accepting(change)
        const error = yield* Effect.flip(sendUpload(sendChunk, content, 20, {}))
        const message = /offset|upload/.test(title)
          ? "The Computer acknowledged another chunk"
          : "The Computer states another file than was sent"
        assert.deepInclude(error, { _tag: "UploadFailed", reason: "integrity", message })
      })
    )
  }
})
