import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Data, Duration, Effect } from "effect"
import { Base64 } from "effect/encoding"
import { isBusyError } from "../../domain/blobs/blobErrors.ts"
import type { UploadReply } from "../../domain/model/messages/requests.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { CallRequest } from "../../domain/wire/calls.ts"
import { lineNamed, lineNames } from "../../domain/wire/lines.ts"
import type { Backoff } from "../../domain/time/backoff.ts"
import { backoffSchedule } from "../shared/backoff.ts"

/**
 * An upload failed on this side. Rejections of the Computer are protocol errors with the code 4019.
 *
 * - `unsupported`: the protocol of this connection has no uploads
 * - `integrity`: the replies of the Computer contradict the upload
 */
export class UploadFailed extends Data.TaggedError("UploadFailed")<{
  readonly reason: "unsupported" | "integrity"
  readonly message: string
}> {}

/** A file that an Agent has put on a Computer; its absolute path there, and its SHA-256 in hexadecimal. */
export interface UploadedFile {
  readonly landingPath: string
  readonly totalSize: number
  readonly sha256: string
}

export interface PutBlobOptions {
  /** The wanted file name. The Computer makes it safe and free; it ignores folders. */
  readonly nameHint?: string
}

/** The part of a chunk's request that depends on the upload. */
export type UploadChunk = Omit<CallRequest<"putBlob">, "agent" | "computer" | "reqId">

/** For Computers with too many uploads in progress: each lasts seconds, or its Computer ends it after minutes. */
const busyBackoff: Backoff = { initial: Duration.millis(500), max: Duration.seconds(10) }

/** Retries of one chunk: about a minute. */
const maxBusyRetries = 10

/** The error of an upload on a line without uploads. */
export const uploadsUnsupported = (lineName: string): UploadFailed => {
  const names = lineNames.filter((name) => lineNamed(name).calls.putBlob !== undefined)
  const message = `The protocol ${lineName} has no uploads: connect with the protocol ${names.join(" or ")}`
  return new UploadFailed({ reason: "unsupported", message })
}

/**
 * Sends content to a Computer in chunks, each after the reply to the previous one. Retries while the Computer is busy, for
 * about a minute.
 */
export const sendUpload = Effect.fnUntraced(function* <E>(
  sendChunk: (chunk: UploadChunk) => Effect.Effect<UploadReply, E>,
  bytes: Uint8Array,
  chunkSize: number,
  { nameHint }: PutBlobOptions
): Effect.fn.Return<UploadedFile, E | UploadFailed> {
  const totalSize = bytes.length
  const hash = bytesToHex(sha256(bytes))
  const retry = { schedule: backoffSchedule(busyBackoff), times: maxBusyRetries, while: isBusyError }
  let uploadId: string | undefined
  let offset = 0
  for (;;) {
    const part = bytes.subarray(offset, offset + chunkSize)
    const eof = offset + part.length === totalSize
    const head = uploadId === undefined ? { totalSize, sha256: hash, ...definedOnly({ nameHint }) } : { uploadId }
    const chunk = { ...head, chunkOffset: offset, eof, blob: Base64.encode(part) }
    const reply = yield* Effect.retry(sendChunk(chunk), retry)
    if (reply.chunkOffset !== offset || (uploadId !== undefined && reply.uploadId !== uploadId)) {
      return yield* new UploadFailed({ reason: "integrity", message: "The Computer acknowledged another chunk" })
    }
    uploadId = reply.uploadId
    offset += part.length
    if (!eof) continue
    const { landingPath, sha256: landedHash = hash, totalSize: landedSize = totalSize } = reply
    if (landingPath === undefined || landedSize !== totalSize || landedHash.toLowerCase() !== hash) {
      return yield* new UploadFailed({ reason: "integrity", message: "The Computer states another file than was sent" })
    }
    return { landingPath, totalSize, sha256: hash }
  }
})
