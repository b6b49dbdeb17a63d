import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Data, Duration, Effect, Option, Result } from "effect"
import { Base64 } from "effect/encoding"
import { referenceOf, restoreData } from "../../domain/blobs/binaryContent.ts"
import { isRangeError, isBusyError } from "../../domain/blobs/blobErrors.ts"
import { checkChunk } from "../../domain/blobs/chunks.ts"
import type { BlobChunk, SkillFile, UploadReply } from "../../domain/model/messages/requests.ts"
import type { ContentBlock, ToolResult } from "../../domain/model/ToolResult.ts"
import { decodeUtf8, encodeUtf8 } from "../../domain/utf8.ts"
import { startCountdown } from "../shared/startCountdown.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { CallRequest } from "../../domain/wire/calls.ts"
import { lineNamed, lineNames } from "../../domain/wire/lines.ts"
import { backoffDelay, reconnectBackoff } from "../shared/backoff.ts"

/**
 * A blob cannot be read although its Computer replied.
 *
 * - `too_large`: it is larger than `maxBytes`
 * - `changed`: its content changed during every attempt
 * - `integrity`: the chunks contradict each other, or the content does not have the stated hash
 * - `timeout`: it was not complete in time
 */
export class BlobUnreadable extends Data.TaggedError("BlobUnreadable")<{
  readonly reason: "too_large" | "changed" | "integrity" | "timeout"
  readonly message: string
}> {}

/** The verified content of a blob; `sha256` in hexadecimal. */
export interface FetchedBlob extends Pick<BlobChunk, "mimeType" | "totalSize" | "sha256"> {
  readonly bytes: Uint8Array
}

/** Limits for reading a blob or a document. */
export interface BlobOptions {
  /** Timeout of the transfer in whole seconds, of all chunks together; 60 by default. */
  readonly timeout?: number
  /** Maximum size of the content in bytes; 32 MiB by default. */
  readonly maxBytes?: number
}

/** Default maximum size in bytes: the caller holds the content in memory. */
export const defaultMaxBytes = 32 * 1024 * 1024

export const defaultTimeoutSeconds = 60

/** Attempts to read content that changes. */
const maxAttempts = 4

type ReadChunk<E> = (offset: number) => Effect.Effect<BlobChunk, E>

const unreadable = (reason: BlobUnreadable["reason"], message: string) =>
  Effect.fail(new BlobUnreadable({ reason, message }))

const timedOut = (seconds: number) =>
  unreadable("timeout", `The blob was not read within ${Math.ceil(seconds)} seconds`)

/** Reads all chunks in order; `undefined` when the content changed meanwhile. */
const readOnce = Effect.fnUntraced(function* <E>(readChunk: ReadChunk<E>, maxBytes: number) {
  const first = yield* readChunk(0)
  const { mimeType, totalSize } = first
  if (totalSize > maxBytes) {
    return yield* unreadable("too_large", `The blob has ${totalSize} bytes, more than the ${maxBytes} allowed`)
  }
  const content = new Uint8Array(totalSize)
  let chunk = first
  let offset = 0
  for (;;) {
    const decoded = Base64.decode(chunk.blob)
    if (Result.isFailure(decoded)) return yield* unreadable("integrity", "A chunk of the blob is not base64")
    const bytes = decoded.success
    const problem = checkChunk(chunk, bytes.length, offset, first)
    if (problem === "drift") return undefined
    if (problem === "invalid") return yield* unreadable("integrity", "The chunks of the blob contradict each other")
    content.set(bytes, offset)
    offset += bytes.length
    if (chunk.eof) break
    const next = yield* Effect.result(readChunk(offset))
    if (Result.isFailure(next)) return isRangeError(next.failure) ? undefined : yield* Effect.fail(next.failure)
    chunk = next.success
  }
  const hash = bytesToHex(sha256(content))
  if (hash !== first.sha256.toLowerCase()) {
    return yield* unreadable("integrity", "The blob does not have the stated hash")
  }
  return { bytes: content, mimeType, totalSize, sha256: hash }
})

/** Reads a blob chunk by chunk and verifies its hash. Starts again, a bounded number of times, when the content changes. */
export const readBlob = Effect.fnUntraced(function* <E>(
  readChunk: ReadChunk<E>,
  { maxBytes = defaultMaxBytes, timeout = defaultTimeoutSeconds }: BlobOptions = {}
): Effect.fn.Return<FetchedBlob, E | BlobUnreadable> {
  const attempts = Effect.gen(function* () {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const blob = yield* readOnce(readChunk, maxBytes)
      if (blob !== undefined) return blob
    }
    return yield* unreadable("changed", "The blob changed during every attempt to read it")
  })
  const duration = Duration.seconds(timeout)
  return yield* Effect.timeoutOrElse(attempts, { duration, orElse: () => timedOut(timeout) })
})

/**
 * Restores the data of a result from its blobs, one after the other, within `timeout` seconds and the default size for
 * all together. A block whose blob cannot be read keeps its handle, and the reason is logged.
 */
export const restoreBlobs = Effect.fnUntraced(function* <E extends { readonly message: string }>(
  result: ToolResult,
  read: (handle: string, options: BlobOptions) => Effect.Effect<FetchedBlob, E>,
  timeout: number
): Effect.fn.Return<ToolResult> {
  if (!result.content.some((block) => referenceOf(block) !== undefined)) return result
  const remaining = yield* startCountdown(Duration.seconds(timeout))
  let bytesLeft = defaultMaxBytes

  const restore = Effect.fnUntraced(function* (block: ContentBlock) {
    const reference = referenceOf(block)
    if (reference === undefined) return block
    const { handle, sha256: expected } = reference
    const timeLeft = yield* remaining
    const restored = Effect.gen(function* () {
      if (Duration.isZero(timeLeft)) return yield* timedOut(timeout)
      const limits = { maxBytes: bytesLeft, timeout: Duration.toSeconds(timeLeft) }
      const { bytes, sha256: hash, totalSize } = yield* read(handle, limits)
      if (expected !== undefined && hash !== expected) {
        return yield* unreadable("integrity", "The content has another hash than the result states")
      }
      bytesLeft -= totalSize
      return restoreData(block, Base64.encode(bytes))
    })
    return yield* Effect.catch(restored, ({ message: reason }) =>
      Effect.as(Effect.logWarning("blob of a result not read", { handle, reason }), block)
    )
  })
  return { ...result, content: yield* Effect.forEach(result.content, restore) }
})

/** The verified content of a skill's file; `sha256` in hexadecimal. */
export interface SkillContent extends FetchedBlob, Pick<SkillFile, "name" | "relPath"> {
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
    return hash === stated.toLowerCase()
      ? { name, relPath, mimeType, text: body, bytes, totalSize: bytes.length, sha256: hash }
      : yield* unreadable("integrity", "The file does not have the stated hash")
  }
  if (blobHandle === undefined) return yield* unreadable("integrity", "The reply has neither a text nor a blob")
  // The file may have changed since the reply: hash and size are those of the bytes that were read.
  const blob = yield* read(blobHandle)
  return { ...blob, name, relPath, mimeType, text: Option.getOrUndefined(decodeUtf8(blob.bytes)) }
})

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
export interface UploadedFile extends Required<Pick<UploadReply, "landingPath" | "totalSize" | "sha256">> {}

export interface PutBlobOptions {
  /** The wanted file name. The Computer makes it safe and free; it ignores folders. */
  readonly nameHint?: string
}

/** The part of a chunk's request that depends on the upload. */
export type UploadChunk = Omit<CallRequest<"putBlob">, "agent" | "computer" | "reqId">

/** Retries of one chunk while a Computer has too many uploads in progress: about a minute. */
const maxBusyRetries = 10

const sleepAfter = (attempt: number) => Effect.flatMap(backoffDelay(reconnectBackoff, attempt), Effect.sleep)

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
  const invalid = (message: string) => Effect.fail(new UploadFailed({ reason: "integrity", message }))
  const totalSize = bytes.length
  const hash = bytesToHex(sha256(bytes))
  const sendPatiently = (chunk: UploadChunk, attempt = 1): Effect.Effect<UploadReply, E> =>
    Effect.catchIf(
      sendChunk(chunk),
      (error) => attempt <= maxBusyRetries && isBusyError(error),
      () => Effect.andThen(sleepAfter(attempt), sendPatiently(chunk, attempt + 1))
    )
  let uploadId: string | undefined
  let offset = 0
  for (;;) {
    const part = bytes.subarray(offset, offset + chunkSize)
    const eof = offset + part.length === totalSize
    const head = uploadId === undefined ? { totalSize, sha256: hash, ...definedOnly({ nameHint }) } : { uploadId }
    const chunk = { ...head, chunkOffset: offset, eof, blob: Base64.encode(part) }
    const reply = yield* sendPatiently(chunk)
    const isOther = reply.chunkOffset !== offset || (uploadId !== undefined && reply.uploadId !== uploadId)
    if (isOther) return yield* invalid("The Computer acknowledged another chunk")
    uploadId = reply.uploadId
    offset += part.length
    if (!eof) continue
    const { landingPath, sha256: landedHash = hash, totalSize: landedSize = totalSize } = reply
    return landingPath === undefined || landedSize !== totalSize || landedHash.toLowerCase() !== hash
      ? yield* invalid("The Computer states another file than was sent")
      : { landingPath, totalSize, sha256: hash }
  }
})
