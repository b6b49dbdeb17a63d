import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { parseDeclaration, receiveChunk } from "../../../src/domain/blobs/chunks.ts"
import type { CallRequest } from "../../../src/domain/wire/calls.ts"

const first: CallRequest<"putBlob"> = {
  agent: "a",
  computer: "pc",
  reqId: "r",
  chunkOffset: 0,
  eof: false,
  blob: "",
  totalSize: 10,
  sha256: "0".repeat(64),
  nameHint: "dir/notes.txt"
}

const reasonOf = (outcome: Result.Result<unknown, { readonly code: number; readonly details?: unknown }>): unknown =>
  Result.match(outcome, { onSuccess: () => undefined, onFailure: ({ code, details }) => [code, details] })

const rejected = (reason: string) => [4019, { reason }]

describe("declaration of an upload", () => {
  it("has a size, a hash in lower case and a safe name", () => {
    const declared = parseDeclaration({ ...first, sha256: "A".repeat(64) }, 10)
    assert.deepStrictEqual(declared, Result.succeed({ totalSize: 10, sha256: "a".repeat(64), fileName: "notes.txt" }))
  })

  it("is rejected without a size of at least 1", () => {
    const { totalSize: _, ...unsized } = first
    for (const request of [unsized, { ...first, totalSize: 0 }, { ...first, totalSize: -1 }]) {
      assert.deepStrictEqual(reasonOf(parseDeclaration(request, 10)), rejected("invalid_declaration"))
    }
  })

  it("is rejected without a hash of 64 hexadecimal digits", () => {
    const { sha256: _, ...unhashed } = first
    for (const request of [unhashed, { ...first, sha256: "0".repeat(63) }, { ...first, sha256: "g".repeat(64) }]) {
      assert.deepStrictEqual(reasonOf(parseDeclaration(request, 10)), rejected("invalid_declaration"))
    }
  })

  it("is rejected above the limit", () => {
    assert.deepStrictEqual(reasonOf(parseDeclaration(first, 9)), rejected("too_large"))
  })

  it("is rejected when the first chunk is not at the start", () => {
    assert.deepStrictEqual(reasonOf(parseDeclaration({ ...first, chunkOffset: 5 }, 10)), rejected("range"))
  })
})

describe("chunk of an upload", () => {
  it.prop("is accepted in order, up to the end", [Schema.Natural, Schema.Natural], ([start, more]) => {
    const [length, totalSize] = [start + 1, start + 1 + more]
    const eof = length === totalSize
    const next = receiveChunk({ received: 0, totalSize }, { chunkOffset: 0, eof }, length)
    assert.deepStrictEqual(next, Result.succeed(length))
    assert.deepStrictEqual(
      reasonOf(receiveChunk({ received: 0, totalSize }, { chunkOffset: 0, eof: !eof }, length)),
      rejected("range")
    )
  })

  it("is rejected after a gap, twice, beyond the end, and without content", () => {
    const progress = { received: 4, totalSize: 10 }
    const outcomes = [
      receiveChunk(progress, { chunkOffset: 5, eof: false }, 2),
      receiveChunk(progress, { chunkOffset: 0, eof: false }, 4),
      receiveChunk(progress, { chunkOffset: 4, eof: true }, 7),
      receiveChunk(progress, { chunkOffset: 4, eof: false }, 0)
    ]
    assert.deepStrictEqual(outcomes.map(reasonOf), [
      rejected("range"),
      rejected("range"),
      rejected("range"),
      rejected("range")
    ])
  })
})
