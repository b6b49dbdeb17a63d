import { Data, DateTime, Duration, Effect } from "effect"
import type { DpeRequest, ResolveDpe } from "../../application/computer/ComputerSettings.ts"
import { parseDocumentContents } from "../../domain/documents/DocumentContents.ts"

export interface DpeDocument {
  /** The `dpe://` URI. */
  readonly uri: string
  readonly mimeType: string
  readonly bytes: Uint8Array
  /** True for text in UTF-8. */
  readonly isText: boolean
}

class DocumentTooLarge extends Data.TaggedError("DocumentTooLarge")<{ readonly message: string }> {}

const maxTimestamp = 8_640_000_000_000_000

/** The expiry in milliseconds since 1970, limited to the latest valid date. */
export const expiryOf = (now: number, lifetime: Duration.Input): number =>
  Math.min(now + Duration.toMillis(lifetime), maxTimestamp)

/** Resolves documents that have a URL already, and no others. */
export const resolveLocation: ResolveDpe = ({ contents, hint }) =>
  Effect.flatMap(Effect.fromResult(parseDocumentContents(contents, hint.mimeType)), ({ kind, ...location }) =>
    kind === "external" && "uri" in location
      ? Effect.succeed(location)
      : Effect.fail("the document has no URL: `settings.resolveDpe` can store it at one")
  )

/** Makes a resolver that stores documents; `expiresAt` in milliseconds since 1970. External ones keep their URI. */
export const makeResolver = <E>(
  name: string,
  maxBytes: number,
  store: (document: DpeDocument) => Effect.Effect<{ readonly uri: string; readonly expiresAt: number }, E>
) =>
  Effect.fn(name)(function* ({ contents, hint, uri }: DpeRequest) {
    const found = yield* Effect.fromResult(parseDocumentContents(contents, hint.mimeType))
    if (found.kind === "external") {
      const { kind: _, ...elsewhere } = found
      return elsewhere
    }
    const { mimeType } = found
    const isText = found.kind === "text"
    const bytes = isText ? new TextEncoder().encode(found.text) : found.bytes
    const { byteLength: size } = bytes
    if (size > maxBytes) {
      const message = `The document has ${size} bytes, more than the ${maxBytes} allowed`
      return yield* new DocumentTooLarge({ message })
    }
    const stored = yield* store({ uri, mimeType, bytes, isText })
    const expiry = DateTime.formatIso(DateTime.makeUnsafe(stored.expiresAt))
    return { uri: stored.uri, mimeType, size, metadata: { expires_at: expiry } }
  })
