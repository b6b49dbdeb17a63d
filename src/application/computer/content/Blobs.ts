import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Effect, Result } from "effect"
import { Base64 } from "effect/encoding"
import { callerKey, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import { binaryDataOf, decodedSize, toReference } from "../../../domain/blobs/binaryContent.ts"
import { blobNotAccessible } from "../../../domain/blobs/blobErrors.ts"
import { formatBlobHandle, parseBlobHandle } from "../../../domain/blobs/blobHandle.ts"
import { chunkSizeFor, maxChunkSize, planChunk } from "../../../domain/blobs/chunks.ts"
import type { CallRequest } from "../../../domain/wire/calls.ts"
import type { ContentBlock, ToolResult } from "../../../domain/model/ToolResult.ts"
import { payloadTooLarge, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { makeKeptValues } from "../../../domain/blobs/keptValues.ts"
import { makeTaggedIds } from "../../shared/secureRandom.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

/** Content that a Computer sends in chunks. Size in bytes, hash (SHA-256) in hexadecimal, both of the whole content. */
export interface BlobSource {
  readonly mimeType: string
  readonly totalSize: number
  readonly sha256: string
  /** Reads at most `length` bytes from `offset`; fewer only at the end. Fails with 4018 when the content has changed. */
  readonly read: (offset: number, length: number) => Effect.Effect<Uint8Array, ProtocolError>
}

interface BlobsOptions {
  /** The name of the Computer. Its handles are valid at no other one. */
  readonly computer: ComputerName
  /** Opens a file of a skill, with all checks of a direct request. */
  readonly readSkill: (name: string, relPath: string) => Effect.Effect<BlobSource, ProtocolError>
  /** Total size of the kept content in bytes; 128 MiB by default. The oldest is evicted first. */
  readonly maxBytes?: number
  /** Maximum number of kept contents; 1000 by default. */
  readonly maxCount?: number
}

/** Content of a tool result, for the caller of the call. */
interface KeptContent extends Pick<BlobSource, "mimeType" | "sha256"> {
  readonly owner: string
  readonly bytes: Uint8Array
}

/** Makes the blobs of a Computer: content of tool results that it keeps in memory, and files of its skills. */
export const makeBlobs = ({ computer, maxBytes = 128 * 1024 * 1024, maxCount = 1000, readSkill }: BlobsOptions) => {
  const kept = makeKeptValues<KeptContent>(({ bytes }) => bytes.length, maxBytes, maxCount)
  const ids = makeTaggedIds(".")

  const find = (id: string, caller: OfficeCaller): Result.Result<BlobSource, ProtocolError> => {
    if (!ids.isOwn(id)) return Result.fail(blobNotAccessible("invalid_handle"))
    const content = kept.get(id)
    if (content === undefined) return Result.fail(blobNotAccessible("gone"))
    const { bytes, owner, ...described } = content
    if (owner !== callerKey(caller)) return Result.fail(blobNotAccessible("forbidden"))
    const read: BlobSource["read"] = (offset, length) => Effect.succeed(bytes.subarray(offset, offset + length))
    return Result.succeed({ ...described, totalSize: bytes.length, read })
  }

  const externalizeBlock = (block: ContentBlock, caller: OfficeCaller, budgetBytes: number): ContentBlock => {
    const data = binaryDataOf(block)
    if (data === undefined || decodedSize(data.base64) <= budgetBytes) return block
    const decoded = Base64.decode(data.base64)
    if (Result.isFailure(decoded) || decoded.success.length > maxBytes) return block
    const bytes = decoded.success
    const hash = bytesToHex(sha256(bytes))
    const id = ids.next()
    kept.put(id, { owner: callerKey(caller), mimeType: data.mimeType, sha256: hash, bytes })
    const handle = formatBlobHandle({ channel: "result", computer, id })
    return toReference(block, { handle, totalSize: bytes.length, sha256: hash })
  }

  /**
   * Replaces binary data above `budgetBytes`, each, by handles that the caller can read until the content is evicted, also
   * in a later membership: each handle has 128 random bits. Data that is not base64, or larger than all kept content may
   * be, stays.
   */
  const externalize = (result: ToolResult, caller: OfficeCaller, budgetBytes: number): Effect.Effect<ToolResult> =>
    Effect.sync(() => {
      const content = result.content.map((block) => externalizeBlock(block, caller, budgetBytes))
      return content.every((block, index) => block === result.content[index]) ? result : { ...result, content }
    })

  const open = (handle: string, caller: OfficeCaller): Effect.Effect<BlobSource, ProtocolError> => {
    const reference = parseBlobHandle(handle)
    if (reference === undefined || reference.computer !== computer) {
      return Effect.fail(blobNotAccessible("invalid_handle"))
    }
    return reference.channel === "skill"
      ? readSkill(reference.name, reference.relPath)
      : Effect.fromResult(find(reference.id, caller))
  }

  /** Gives a chunk of a blob, small enough for a message of `maxMessageBytes`. Fails with 4018, or with 413. */
  const getBlob = Effect.fnUntraced(function* (
    request: CallRequest<"getBlob">,
    caller: OfficeCaller,
    maxMessageBytes: number
  ) {
    const { blobHandle, chunkOffset, maxChunkBytes = maxChunkSize, reqId } = request
    const { mimeType, read, sha256: hash, totalSize } = yield* open(blobHandle, caller)
    const fitting = chunkSizeFor(maxMessageBytes, [blobHandle, mimeType, hash, reqId])
    if (fitting === 0 && totalSize > 0) return yield* payloadTooLarge(maxMessageBytes)
    const { eof, length } = yield* Effect.fromResult(
      planChunk(totalSize, chunkOffset, Math.min(maxChunkBytes, fitting))
    )
    const bytes = yield* read(chunkOffset, length)
    if (bytes.length !== length) return yield* blobNotAccessible("gone")
    return { blobHandle, mimeType, totalSize, sha256: hash, chunkOffset, eof, blob: Base64.encode(bytes), reqId }
  })

  return {
    externalize,
    getBlob,
    /** Drops all content of tool results. Its handles fail with 4018 `gone`. */
    clear: Effect.sync(() => kept.removeIf(() => true))
  }
}

export type Blobs = ReturnType<typeof makeBlobs>
