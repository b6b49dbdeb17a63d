import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { checkChunk, chunkSizeFor, maxChunkSize, planChunk } from "../../../src/domain/blobs/chunks.ts"
import { lineNamed } from "../../../src/domain/wire/lines.ts"

const { getBlob } = lineNamed("0.4").calls

const sizes = { arbitrary: { size: 1000 } }

describe("planChunk", () => {
  it.prop(
    "covers content of any size exactly once",
    [Schema.Natural, Schema.Natural],
    ([totalSize, step]) => {
      const lengths: Array<number> = []
      for (let offset = 0, isLast = false; !isLast; ) {
        const { eof, length } = Result.getOrThrow(planChunk(totalSize, offset, step + 1))
        lengths.push(length)
        offset += length
        isLast = eof
      }
      assert.strictEqual(
        lengths.reduce((sum, length) => sum + length, 0),
        totalSize
      )
      assert.isTrue(lengths.slice(0, -1).every((length) => length === step + 1))
    },
    sizes
  )

  it("gives one empty chunk for empty content", () => {
    assert.deepStrictEqual(planChunk(0, 0, 10), Result.succeed({ length: 0, eof: true }))
  })

  it("rejects an offset beyond the end with 4018 and the reason range", () => {
    const error = Result.getOrThrow(Result.flip(planChunk(5, 6, 10)))
    assert.deepInclude(error, { code: 4018, details: { reason: "range" } })
  })
})

describe("chunkSizeFor", () => {
  it.prop(
    "gives a chunk whose message fits",
    [Schema.String, Schema.String, Schema.String, Schema.Natural],
    ([blobHandle, mimeType, reqId, room]) => {
      const maxBytes = 3000 + room * 100
      const length = chunkSizeFor(maxBytes, [blobHandle, mimeType, reqId, "f".repeat(64)])
      const message = getBlob.reply.encode({
        blobHandle,
        mimeType,
        reqId,
        sha256: "f".repeat(64),
        totalSize: Number.MAX_SAFE_INTEGER,
        chunkOffset: Number.MAX_SAFE_INTEGER,
        eof: false,
        blob: Buffer.alloc(length).toString("base64")
      })
      assert.isAtMost(Buffer.byteLength(JSON.stringify(message)), maxBytes)
    },
    sizes
  )

  it("never exceeds the largest chunk", () => {
    assert.strictEqual(chunkSizeFor(Number.POSITIVE_INFINITY, []), maxChunkSize)
  })

  it("is 0 when the message has no room", () => {
    assert.strictEqual(chunkSizeFor(10, ["text"]), 0)
  })
})

describe("checkChunk", () => {
  const first = { totalSize: 10, sha256: "a" }
  const chunk = { blobHandle: "h", mimeType: "m", totalSize: 10, sha256: "a", chunkOffset: 4, eof: false, blob: "" }

  it("accepts the next chunk", () => {
    assert.isUndefined(checkChunk(chunk, 3, 4, first))
    assert.isUndefined(checkChunk({ ...chunk, eof: true }, 6, 4, first))
  })

  it("finds changed content by its size or its hash", () => {
    assert.strictEqual(checkChunk({ ...chunk, totalSize: 11 }, 3, 4, first), "drift")
    assert.strictEqual(checkChunk({ ...chunk, sha256: "b" }, 3, 4, first), "drift")
  })

  it("rejects another offset, content beyond the end, a wrong end, and a chunk without content", () => {
    assert.strictEqual(checkChunk(chunk, 3, 5, first), "invalid")
    assert.strictEqual(checkChunk({ ...chunk, eof: true }, 7, 4, first), "invalid")
    assert.strictEqual(checkChunk({ ...chunk, eof: true }, 5, 4, first), "invalid")
    assert.strictEqual(checkChunk(chunk, 6, 4, first), "invalid")
    assert.strictEqual(checkChunk(chunk, 0, 4, first), "invalid")
  })
})
