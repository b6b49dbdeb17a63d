import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Effect, Option } from "effect"
import type { SkillFile } from "../../domain/model/messages/skills.ts"
import { decodeUtf8, encodeUtf8 } from "../../domain/utf8.ts"
import { BlobUnreadable, type FetchedBlob } from "./blobs.ts"

/** The verified content of a skill's file; `sha256` in hexadecimal. */
export interface SkillContent extends FetchedBlob {
  readonly name: string
  readonly relPath: string
  /** The content as text; `undefined` when it is not UTF-8. */
  readonly text: string | undefined
}

/** Completes the reply to a request for a skill's file: verifies its text, or reads its blob. */
export const completeSkillFile = Effect.fnUntraced(function* <E>(
  { blobHandle, body, mimeType, name, relPath, sha256: stated }: SkillFile,
  read: (handle: string) => Effect.Effect<FetchedBlob, E>
): Effect.fn.Return<SkillContent, E | BlobUnreadable> {
  if (body !== undefined) {
    const bytes = encodeUtf8(body)
    const hash = bytesToHex(sha256(bytes))
    if (hash === stated.toLowerCase()) {
      return { name, relPath, mimeType, text: body, bytes, totalSize: bytes.length, sha256: hash }
    }
    return yield* new BlobUnreadable({ reason: "integrity", message: "The file does not have the stated hash" })
  }
  if (blobHandle === undefined) {
    return yield* new BlobUnreadable({ reason: "integrity", message: "The reply has neither a text nor a blob" })
  }
  // The file may have changed since the reply: hash and size are those of the bytes that were read.
  const blob = yield* read(blobHandle)
  return { ...blob, name, relPath, mimeType, text: Option.getOrUndefined(decodeUtf8(blob.bytes)) }
})
