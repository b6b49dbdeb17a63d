import { DateTime, Duration, Effect } from "effect"
import type { DpeRequest, ResolvedDpe } from "../../application/computer/ComputerSettings.ts"
import { readContents, type UnusableContents } from "../../domain/documents/contents.ts"

/** A document that somebody must keep, so that an Agent can fetch it. */
export interface Document {
  /** Its `dpe://` URI. */
  readonly uri: string
  readonly mimeType: string
  readonly bytes: Uint8Array
  /** True when the bytes are text, in UTF-8. */
  readonly isText: boolean
}

/** Where a document is kept. */
export interface Kept {
  readonly uri: string
  /** Until when it is kept, unless newer documents need its room; in milliseconds since 1970. */
  readonly expiresAt: number
}

/** The last instant that has a name. */
const endOfTime = 8_640_000_000_000_000

/** When something made now expires, in milliseconds since 1970; lifetimes without end do so at the end of time. */
export const expiryOf = (now: number, lifetime: Duration.Input): number =>
  Math.min(now + Duration.toMillis(lifetime), endOfTime)

/** A resolver of documents by a way to keep them; what is elsewhere already is answered as it says. */
export const resolverOf = <E>(name: string, keep: (document: Document) => Effect.Effect<Kept, E>) =>
  Effect.fn(name)(function* ({
    contents,
    hint,
    uri
  }: DpeRequest): Effect.fn.Return<ResolvedDpe, E | UnusableContents> {
    const found = yield* Effect.fromResult(readContents(contents, hint.mimeType))
    if (found.kind === "external") {
      const { kind: _, ...elsewhere } = found
      return elsewhere
    }
    const { mimeType } = found
    const isText = found.kind === "text"
    const bytes = isText ? new TextEncoder().encode(found.text) : found.bytes
    const kept = yield* keep({ uri, mimeType, bytes, isText })
    return {
      uri: kept.uri,
      mimeType,
      size: bytes.byteLength,
      metadata: { expires_at: DateTime.formatIso(DateTime.makeUnsafe(kept.expiresAt)) }
    }
  })
