import { assert, describe, it } from "@effect/vitest"
import { parseBlobHandle } from "../../../src/domain/blobs/blobHandle.ts"

describe("blob handle", () => {
  it("is not any other text", () => {
    const otherJson = Buffer.from('{"channel":"file","path":"/etc/passwd"}').toString("base64url")
    for (const text of ["", "h", "{}", otherJson]) assert.isUndefined(parseBlobHandle(text), text)
  })
})
