import type { Effect } from "effect"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"

/** Content that a Computer sends in chunks. Size in bytes, hash (SHA-256) in hexadecimal, both of the whole content. */
export interface BlobSource {
  readonly mimeType: string
  readonly totalSize: number
  readonly sha256: string
  /** Reads at most `length` bytes from `offset`; fewer only at the end. Fails with 4018 when the content has changed. */
  readonly read: (offset: number, length: number) => Effect.Effect<Uint8Array, ProtocolError>
}
