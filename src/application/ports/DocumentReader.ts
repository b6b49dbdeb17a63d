import { Context, Data, type Effect } from "effect"

/** A document cannot be read where its Computer said it is. The message names no query: that may be a signature. */
export class DocumentUnreadable extends Data.TaggedError("DocumentUnreadable")<{
  readonly message: string
}> {}

/** What stands behind a URI. */
export interface DocumentContent {
  readonly bytes: Uint8Array
  /** What its source calls it, where it says so. */
  readonly mimeType: string | undefined
}

/** Reads documents for an Agent, by the URIs that Computers answer. Interrupting stops the transfer. */
export class DocumentReader extends Context.Service<
  DocumentReader,
  {
    /** The whole document; one of more than `maxBytes` is given up as soon as that shows. */
    readonly read: (uri: string, maxBytes: number) => Effect.Effect<DocumentContent, DocumentUnreadable>
  }
>()("a2c-smcp/application/ports/DocumentReader") {}
