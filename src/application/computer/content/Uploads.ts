import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Duration, Effect, FiberMap, Option, Result, Semaphore } from "effect"
import { Base64 } from "effect/encoding"
import { isSameCaller, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import { uploadRejected } from "../../../domain/blobs/blobErrors.ts"
import { parseDeclaration, receiveChunk, type UploadDeclaration } from "../../../domain/blobs/chunks.ts"
import type { UploadReply } from "../../../domain/model/messages/requests.ts"
import type { CallRequest } from "../../../domain/wire/calls.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { type LandingFailed, LandingFolder, type LandingPart } from "../../ports/files/LandingFolder.ts"
import { secureRandomHex } from "../../shared/secureRandom.ts"
import type { RequestId } from "../../../domain/model/ids.ts"

/** Where Agents may put files. */
export interface UploadOptions {
  /** The absolute path of a folder for this Computer alone; created if missing. */
  readonly folder: string
  /** Maximum size of a file in bytes; 100 MiB by default. */
  readonly maxBytes?: number
}

/** Uploads in progress at once: each has an open file. */
const maxUploads = 4

const defaultMaxBytes = 100 * 1024 * 1024

/** An upload without a chunk for this long ends. */
const idleTimeout = Duration.minutes(2)

const makeUpload = (declaration: UploadDeclaration, caller: OfficeCaller) => ({
  ...declaration,
  id: secureRandomHex(16),
  caller,
  hash: sha256.create(),
  /** Orders the chunks, and the end of the upload. */
  lock: Semaphore.makeUnsafe(1),
  part: undefined as LandingPart | undefined,
  received: 0
})
type Upload = ReturnType<typeof makeUpload>

type Reply = UploadReply & { readonly reqId: RequestId }

export interface Uploads {
  /** Receives a chunk of an upload. Fails with 4019; every failure except an unknown id ends its upload. */
  readonly putBlob: (request: CallRequest<"putBlob">, caller: OfficeCaller) => Effect.Effect<Reply, ProtocolError>
  /** Ends all uploads in progress and removes their files. */
  readonly reset: Effect.Effect<void>
}

const forbidUploads: Uploads = {
  putBlob: () => Effect.fail(uploadRejected("forbidden")),
  reset: Effect.void
}

const orIoError = <A>(landing: Effect.Effect<A, LandingFailed>): Effect.Effect<A, ProtocolError> =>
  Effect.catch(landing, ({ message: reason }) =>
    Effect.andThen(Effect.logError("upload failed", { reason }), Effect.fail(uploadRejected("io_error")))
  )

/** Makes the uploads in progress, which end with the scope. */
const makeUploadsInProgress = Effect.fnUntraced(function* (maxBytes: number) {
  const uploads = new Map<string, Upload>()
  const timers = yield* FiberMap.make<string>()
  let isClosing = false

  /** Ends an upload whose lock the caller holds. */
  const release = (upload: Upload): Effect.Effect<void> =>
    Effect.suspend(() => {
      uploads.delete(upload.id)
      return upload.part?.discard ?? Effect.void
    })

  /** A chunk may restart the timer of an upload that waits for its lock to end. */
  const end = (upload: Upload): Effect.Effect<void> => upload.lock.withPermit(Effect.uninterruptible(release(upload)))

  const endIdle = Effect.fnUntraced(function* (upload: Upload) {
    yield* Effect.sleep(idleTimeout)
    yield* Effect.logInfo("upload ended", { reason: "idle", received: upload.received, of: upload.totalSize })
    yield* end(upload)
  })

  const begin = Effect.fnUntraced(function* (request: CallRequest<"putBlob">, caller: OfficeCaller) {
    const declaration = yield* Effect.fromResult(parseDeclaration(request, maxBytes))
    if (isClosing) return yield* uploadRejected("forbidden")
    if (uploads.size >= maxUploads) return yield* uploadRejected("busy")
    const upload = makeUpload(declaration, caller)
    uploads.set(upload.id, upload)
    return upload
  })

  /** Finds the upload of a chunk. Each belongs to the membership that began it. */
  const find = (id: string, caller: OfficeCaller): Effect.Effect<Upload, ProtocolError> => {
    const upload = uploads.get(id)
    return upload !== undefined && isSameCaller(upload.caller, caller)
      ? Effect.succeed(upload)
      : Effect.fail(uploadRejected("invalid_upload"))
  }

  const reset = Effect.suspend(() =>
    Effect.forEach([...uploads.values()], end, { concurrency: "unbounded", discard: true })
  ).pipe(Effect.uninterruptible)
  yield* Effect.addFinalizer(() => {
    isClosing = true
    return reset
  })
  return {
    begin,
    find,
    release,
    isOpen: ({ id }: Upload) => uploads.has(id),
    restartTimer: (upload: Upload) => FiberMap.run(timers, upload.id, endIdle(upload)),
    endTimer: ({ id }: Upload) => FiberMap.remove(timers, id),
    reset
  }
})

/** Receives a chunk of an upload whose lock the caller holds. The last one has the path of the file in its reply. */
const receive = Effect.fnUntraced(function* (
  openPart: Effect.Effect<LandingPart, LandingFailed>,
  upload: Upload,
  { blob, chunkOffset, eof, reqId }: CallRequest<"putBlob">
): Effect.fn.Return<Reply, ProtocolError> {
  const decoded = Base64.decode(blob)
  // Not 400: published Servers pass on only the codes of their protocol.
  if (Result.isFailure(decoded)) return yield* uploadRejected("integrity")
  const bytes = decoded.success
  const received = yield* Effect.fromResult(receiveChunk(upload, { chunkOffset, eof }, bytes.length))
  const part = (upload.part ??= yield* orIoError(openPart))
  upload.hash.update(bytes)
  yield* orIoError(part.append(bytes))
  upload.received = received
  const reply = { uploadId: upload.id, chunkOffset, reqId }
  if (!eof) return reply
  if (bytesToHex(upload.hash.digest()) !== upload.sha256) return yield* uploadRejected("integrity")
  const landingPath = yield* orIoError(part.finish(upload.fileName))
  yield* Effect.logInfo("upload complete", { path: landingPath, bytes: received })
  return { ...reply, landingPath, totalSize: received, sha256: upload.sha256 }
})

/**
 * Makes the uploads of a Computer, which end with the scope. Without options all are rejected, and nothing is written. A
 * file appears under its name only when it is complete and has the declared hash.
 */
export const makeUploads = Effect.fnUntraced(function* (options: UploadOptions | undefined) {
  if (options === undefined) return forbidUploads
  const landing = yield* Effect.serviceOption(LandingFolder)
  if (Option.isNone(landing)) {
    yield* Effect.logError("uploads rejected", { reason: "no LandingFolder is provided" })
    return forbidUploads
  }
  const { collectOrphans, openPart } = landing.value
  const { folder, maxBytes = defaultMaxBytes } = options
  const { begin, endTimer, find, isOpen, release, reset, restartTimer } = yield* makeUploadsInProgress(maxBytes)

  const putBlob = Effect.fnUntraced(function* (request: CallRequest<"putBlob">, caller: OfficeCaller) {
    const upload = yield* request.uploadId === undefined ? begin(request, caller) : find(request.uploadId, caller)
    const received = Effect.suspend(() =>
      // The upload may have ended while this chunk waited for the previous one.
      isOpen(upload) ? receive(openPart(folder), upload, request) : Effect.fail(uploadRejected("invalid_upload"))
    ).pipe(
      Effect.onError(() => release(upload)),
      Effect.tap(({ landingPath }) => (landingPath === undefined ? restartTimer(upload) : release(upload)))
    )
    // The timer ends outside of the lock, for which it may wait.
    const ended = Effect.suspend(() => (isOpen(upload) ? Effect.void : endTimer(upload)))
    return yield* Effect.ensuring(upload.lock.withPermit(received), ended)
  }, Effect.uninterruptible)

  yield* collectOrphans(folder).pipe(
    Effect.tap((count) => (count === 0 ? Effect.void : Effect.logInfo("orphaned uploads removed", { folder, count }))),
    Effect.catch(({ message: reason }) => Effect.logWarning("orphaned uploads not removed", { folder, reason }))
  )
  return { putBlob, reset }
})
