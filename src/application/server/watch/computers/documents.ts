import { Duration, Effect, Option } from "effect"
import { payloadTooLarge, type ProtocolError, unavailable } from "../../../../domain/model/ProtocolError.ts"
import type { PageReplies, PageCommandOf } from "../../../../domain/page/PageCommand.ts"
import { maxDocumentBytes, toPreview } from "../../../shared/page/documentPreview.ts"
import { DocumentReader } from "../../../ports/files/DocumentReader.ts"
import { requestComputer } from "./computerRequests.ts"
import type { WatchedServer } from "../WatchedServer.ts"
import type { Operator } from "../../../shared/page/PageSource.ts"

const transferTimeout = Duration.seconds(10)

type GetDocument = PageCommandOf<"GetDocument">

/** Fetches the beginning of a document for an operator. Documents that are not text have an empty text. */
export type PreviewDocument = (
  server: WatchedServer,
  operator: Operator,
  command: GetDocument
) => Effect.Effect<PageReplies["GetDocument"], ProtocolError>

/**
 * Makes the function that fetches documents as an Agent does: the Computer tells their location. Needs a
 * {@link DocumentReader} in the context, which decides which locations it reads.
 */
export const makeDocumentPreviews = Effect.gen(function* () {
  const reader = yield* Effect.serviceOption(DocumentReader)

  const preview: PreviewDocument = Effect.fnUntraced(function* (server, operator, command) {
    if (Option.isNone(reader)) return yield* unavailable("This Server does not fetch documents")
    const location = yield* requestComputer(
      server,
      operator,
      command,
      ({ calls }) => calls.getDpe,
      (base) => ({ ...base, uri: command.uri })
    )
    if (location.size !== undefined && location.size > maxDocumentBytes) return yield* payloadTooLarge(maxDocumentBytes)
    const content = yield* reader.value.read(location.uri, maxDocumentBytes).pipe(
      Effect.mapError(({ message }) => unavailable(message)),
      Effect.timeoutOrElse({
        duration: transferTimeout,
        orElse: () => Effect.fail(unavailable("The document was not transferred in time"))
      })
    )
    return toPreview(command.uri, { mimeType: location.mimeType ?? content.mimeType, bytes: content.bytes })
  })
  return preview
})
