import { DateTime, Duration, Effect } from "effect"
import type { DpeRequest, ResolvedDpe } from "../../application/computer/ComputerSettings.ts"
import {
  parseDocumentContents,
  type InvalidDocumentContents
} from "../../domain/documents/DocumentContents.ts"

/** A document that somebody must keep, so that an Agent can fetch it. */
export interface DpeDocument {
  /** Its `dpe://` URI. */
  readonly uri: string
  readonly mimeType: string
  readonly bytes: Uint8Array
  /** True when the bytes are text, in UTF-8. */
  readonly isText: boolean
}

/** Where a document is kept. */
export interface StoredDocument {
  readonly uri: string
  /** Until when it is kept, unless newer documents need its room; in milliseconds since 1970. */
  readonly expiresAt: number
}

/** The last instant that has a name. */
const maxTimestamp = 8_640_000_000_000_000

/** When something made now expires, in milliseconds since 1970; lifetimes without end do so at the end of time. */
export const expiryOf = (now: number, lifetime: Duration.Input): number =>
  Math.min(now + Duration.toMillis(lifetime), maxTimestamp)

/** A resolver of documents by a way to keep them; what is elsewhere already is answered as it says. */
export const makeResolver = <E>(
  name: string,
  store: (document: DpeDocument) => Effect.Effect<StoredDocument, E>
) =>
  Effect.fn(name)(function* ({
    contents,
    hint,
    uri
  }: DpeRequest): Effect.fn.Return<ResolvedDpe, E | InvalidDocumentContents> {
    const found = yield* Effect.fromResult(parseDocumentContents(contents, hint.mimeType))
    if (found.kind === "external") {
      const { kind: _, ...elsewhere } = found
      return elsewhere
    }
    const { mimeType } = found
    const isText = found.kind === "text"
    const bytes = isText ? new TextEncoder().encode(found.text) : found.bytes
    const stored = yield* store({ uri, mimeType, bytes, isText })
    return {
      uri: stored.uri,
      mimeType,
      size: bytes.byteLength,
      metadata: { expires_at: DateTime.formatIso(DateTime.makeUnsafe(stored.expiresAt)) }
    }
  })
