import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  binaryDataOf,
  decodedSize,
  referenceOf,
  restoreData,
  toReference
} from "../../../src/domain/blobs/binaryContent.ts"
import type { ContentBlock } from "../../../src/domain/model/ToolResult.ts"

const data = "AAECAw=="
const image: ContentBlock = { type: "image", data, mimeType: "image/png" }
const audio: ContentBlock = { type: "audio", data, mimeType: "audio/wav", _meta: { own: 1 } }
const embedded: ContentBlock = { type: "resource", resource: { uri: "f://1", mimeType: "a/b", blob: data } }
const text: ContentBlock = { type: "text", text: data }
const reference = { handle: "h", totalSize: 4, sha256: "ab" }
const referenceMeta = { a2c_blob_handle: "h", a2c_total_size: 4, a2c_sha256: "ab" }

describe("binary data of a block", () => {
  it("is that of pictures, sounds and embedded resources", () => {
    assert.deepStrictEqual([image, audio, embedded].map(binaryDataOf), [
      { base64: data, mimeType: "image/png" },
      { base64: data, mimeType: "audio/wav" },
      { base64: data, mimeType: "a/b" }
    ])
  })

  it("has a MIME type when its resource states none", () => {
    const unnamed: ContentBlock = { type: "resource", resource: { uri: "f://1", blob: data } }
    assert.deepStrictEqual(binaryDataOf(unnamed), { base64: data, mimeType: "application/octet-stream" })
  })

  it("is missing in texts, links and resources of text", () => {
    const link: ContentBlock = { type: "resource_link", uri: "f://1", name: "n" }
    const resource: ContentBlock = { type: "resource", resource: { uri: "f://1", text: "t" } }
    assert.deepStrictEqual([text, link, resource].map(binaryDataOf), [undefined, undefined, undefined])
  })

  it.prop("has the size of its bytes", [Schema.Uint8Array], ([bytes]) => {
    assert.strictEqual(decodedSize(Buffer.from(bytes).toString("base64")), bytes.length)
  })
})

describe("reference instead of data", () => {
  it("empties the data and keeps all other members", () => {
    assert.deepStrictEqual(toReference(audio, reference), { ...audio, data: "", _meta: { own: 1, ...referenceMeta } })
    assert.deepStrictEqual(toReference(embedded, reference), {
      type: "resource",
      resource: { uri: "f://1", mimeType: "a/b", blob: "" },
      _meta: referenceMeta
    })
  })

  it("is found in the block, with the hash in lower case", () => {
    const upper = { ...reference, sha256: "AB" }
    assert.deepStrictEqual(referenceOf(toReference(image, upper)), { handle: "h", sha256: "ab" })
  })

  it("is missing in blocks without a handle, and in texts", () => {
    assert.deepStrictEqual([image, { ...text, _meta: referenceMeta }].map(referenceOf), [undefined, undefined])
  })

  it("leaves no trace after the data is restored", () => {
    for (const block of [image, audio, embedded]) {
      assert.deepStrictEqual(restoreData(toReference(block, reference), data), block)
    }
  })
})
