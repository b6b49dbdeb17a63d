import { Result } from "effect"
import type { BlobChunk } from "../model/messages/requests.ts"
import type { ProtocolError } from "../model/ProtocolError.ts"
import { encodeUtf8 } from "../utf8.ts"
import { blobNotAccessible } from "./blobErrors.ts"

/** The largest chunk in bytes. Its message has about 350 KB, below the limits of all published Servers. */
export const maxChunkSize = 256 * 1024

/** Bytes of a message with a chunk, beside its base64 and its texts: the names of the members, numbers and quotes. */
const envelopeBytes = 512

/** Gives the largest chunk, in bytes, whose message fits `maxMessageBytes` with these texts; 0 when none fits. */
export const chunkSizeFor = (maxMessageBytes: number, texts: ReadonlyArray<string>): number => {
  const taken = texts.reduce((sum, text) => sum + encodeUtf8(JSON.stringify(text)).length, envelopeBytes)
  return Math.min(maxChunkSize, Math.max(0, Math.floor((maxMessageBytes - taken) / 4) * 3))
}

/** Gives the length of the chunk at an offset and whether it is the last one. Fails with 4018 beyond the end. */
export const planChunk = (
  totalSize: number,
  offset: number,
  maxLength: number
): Result.Result<{ readonly length: number; readonly eof: boolean }, ProtocolError> => {
  if (offset > totalSize) return Result.fail(blobNotAccessible("range"))
  const length = Math.min(maxLength, totalSize - offset)
  return Result.succeed({ length, eof: offset + length === totalSize })
}

/** What identifies the content that several chunks are parts of. */
type ContentIdentity = Pick<BlobChunk, "totalSize" | "sha256">

/**
 * Checks a received chunk against the requested offset and the first chunk of the same read. `drift`: the content has
 * changed since. `invalid`: the chunk contradicts itself or the request.
 */
export const checkChunk = (
  chunk: BlobChunk,
  length: number,
  offset: number,
  first: ContentIdentity
): "drift" | "invalid" | undefined => {
  if (chunk.totalSize !== first.totalSize || chunk.sha256 !== first.sha256) return "drift"
  const end = offset + length
  const isValid =
    chunk.chunkOffset === offset &&
    end <= chunk.totalSize &&
    chunk.eof === (end === chunk.totalSize) &&
    (length > 0 || chunk.eof)
  return isValid ? undefined : "invalid"
}
