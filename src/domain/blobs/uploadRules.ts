import { Result } from "effect"
import type { ProtocolError } from "../model/ProtocolError.ts"
import { uploadRejected } from "./blobErrors.ts"
import { safeFileName } from "./fileNames.ts"

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

/** The bytes of an upload so far, and in total. */
interface UploadProgress {
  readonly received: number
  readonly totalSize: number
}

/**
 * Gives the bytes received after a chunk. Chunks come in order without gaps, each has content, and exactly the one that
 * completes the content has `eof`. Fails with 4019 otherwise.
 */
export const receiveChunk = (
  { received, totalSize }: UploadProgress,
  { chunkOffset, eof }: Pick<ChunkHead, "chunkOffset" | "eof">,
  length: number
): Result.Result<number, ProtocolError> => {
  const end = received + length
  const isNext = chunkOffset === received && length > 0 && end <= totalSize
  return isNext && eof === (end === totalSize) ? Result.succeed(end) : Result.fail(uploadRejected("range"))
}
