import { Context, Data, type Effect } from "effect"

/** A document cannot be read at the URI of its Computer. The message omits the query, which may hold a signature. */
export class DocumentUnreadable extends Data.TaggedError("DocumentUnreadable")<{ readonly message: string }> {}

export interface DocumentContent {
  readonly bytes: Uint8Array
  /** The media type that the source declares. */
  readonly mimeType: string | undefined
}

/** Reads documents for an Agent by the URIs that Computers reply. Interruption stops the transfer. */
export class DocumentReader extends Context.Service<
  DocumentReader,
  {
    /** Reads a complete document. Fails as soon as it exceeds `maxBytes`. */
    readonly read: (uri: string, maxBytes: number) => Effect.Effect<DocumentContent, DocumentUnreadable>
  }
>()("a2c-smcp/application/ports/DocumentReader") {}
