import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { formatBlobHandle, parseBlobHandle } from "../../../src/domain/blobs/blobHandle.ts"

describe("blob handle", () => {
  it.prop(
    "gives back what it stands for",
    [Schema.String, Schema.String, Schema.String],
    ([computer, name, relPath]) => {
      const file = { channel: "skill", computer, name, relPath } as const
      assert.deepStrictEqual(parseBlobHandle(formatBlobHandle(file)), file)
    }
  )

  it("is not any other text", () => {
    const otherJson = Buffer.from('{"channel":"file","path":"/etc/passwd"}').toString("base64url")
    assert.deepStrictEqual(["", "h", "{}", otherJson].map(parseBlobHandle), [
      undefined,
      undefined,
      undefined,
      undefined
    ])
  })
})
