import { Result } from "effect"
import type { BlobChunk } from "../model/messages/requests.ts"
import type { ProtocolError } from "../model/ProtocolError.ts"
import { encodeUtf8 } from "../utf8.ts"
import { blobNotAccessible, uploadRejected } from "./blobErrors.ts"
import { safeFileName } from "./fileNames.ts"

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

type ContentIdentity = Pick<BlobChunk, "totalSize" | "sha256">

/**
 * Checks a received chunk against the requested offset and the first chunk of the same read. `drift`: the content has
 * changed since. `invalid`: the chunk contradicts itself or the request.
 */
export const checkChunk = (chunk: BlobChunk, length: number, offset: number, first: ContentIdentity) => {
  if (chunk.totalSize !== first.totalSize || chunk.sha256 !== first.sha256) return "drift"
  const end = offset + length
  const isValid =
    chunk.chunkOffset === offset &&
    end <= chunk.totalSize &&
    chunk.eof === (end === chunk.totalSize) &&
    (length > 0 || chunk.eof)
  return isValid ? undefined : "invalid"
}

/** A chunk of an upload without its content. The first one declares size, hash and a hint for the name. */
interface ChunkHead {
  readonly chunkOffset: number
  readonly eof: boolean
  readonly totalSize?: number
  readonly sha256?: string
  readonly nameHint?: string
}

/** What the first chunk declares. The hash is in lower case. */
export interface UploadDeclaration {
  readonly totalSize: number
  readonly sha256: string
  readonly fileName: string
}

const sha256Pattern = /^[0-9a-f]{64}$/i

/** Checks the declaration of a first chunk. Fails with 4019. */
export const parseDeclaration = (
  { chunkOffset, nameHint, sha256, totalSize }: ChunkHead,
  maxBytes: number
): Result.Result<UploadDeclaration, ProtocolError> => {
  if (chunkOffset !== 0) return Result.fail(uploadRejected("range"))
  if (totalSize === undefined || totalSize < 1 || sha256 === undefined || !sha256Pattern.test(sha256)) {
    return Result.fail(uploadRejected("invalid_declaration"))
  }
  if (totalSize > maxBytes) return Result.fail(uploadRejected("too_large"))
  return Result.succeed({ totalSize, sha256: sha256.toLowerCase(), fileName: safeFileName(nameHint) })
}

/**
 * Gives the bytes received after a chunk of an upload. Chunks come in order without gaps, each has content, and exactly the one that
 * completes the content has `eof`. Fails with 4019 otherwise.
 */
export const receiveChunk = (
  { received, totalSize }: { readonly received: number; readonly totalSize: number },
  { chunkOffset, eof }: Pick<ChunkHead, "chunkOffset" | "eof">,
  length: number
): Result.Result<number, ProtocolError> => {
  const end = received + length
  const isNext = chunkOffset === received && length > 0 && end <= totalSize
  return isNext && eof === (end === totalSize) ? Result.succeed(end) : Result.fail(uploadRejected("range"))
}
