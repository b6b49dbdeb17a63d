import { Duration, Effect, Option } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { collectPages } from "../shared/paging.ts"
import { DocumentReader, DocumentUnreadable } from "../ports/DocumentReader.ts"
import { type AgentError, type AgentRequests, BadReply } from "./AgentRequests.ts"
import type { DocumentLocation } from "../../domain/model/requests.ts"

/** A document, and what its Computer said about it. */
export interface FetchedDocument extends Omit<DocumentLocation, "size"> {
  readonly bytes: Uint8Array
}

/** How a document is fetched. */
export interface FetchOptions {
  /** How long the Computer may take to say where it is, and then the transfer, in whole seconds; a minute each. */
  readonly timeout?: number
  /** Largest document that is taken, in bytes; 32 MiB unless given. */
  readonly maxBytes?: number
}

/** Reads what takes more than one request. */
export interface AgentQueries {
  /** All resources of an MCP server, however many pages they take. */
  readonly allResources: (
    computer: string,
    mcpServer: string
  ) => Effect.Effect<ReadonlyArray<JsonObject>, AgentError>
  /**
   * A `dpe://` document itself: asks the Computer where it is, and reads it there over HTTP. Files of this machine are
   * read where the host allowed their folders.
   */
  readonly fetchDocument: (
    computer: string,
    uri: string,
    options?: FetchOptions
  ) => Effect.Effect<FetchedDocument, AgentError | DocumentUnreadable>
}

/** How long a transfer may take unless told otherwise, in seconds. */
const defaultTransferSeconds = 60

/** How large a document may be unless told otherwise, in bytes: whoever fetches it holds it in memory. */
const defaultMaxBytes = 32 * 1024 * 1024

const unreadable = (message: string) => Effect.fail(new DocumentUnreadable({ message }))

/** Reading over requests; documents are read by the host's {@link DocumentReader}, if it brought one. */
export const makeAgentQueries = Effect.fnUntraced(function* (
  requests: AgentRequests
): Effect.fn.Return<AgentQueries> {
  const reader = yield* Effect.serviceOption(DocumentReader)

  const fetchDocument = Effect.fn("Agent.fetchDocument")(function* (
    computer: string,
    uri: string,
    { maxBytes = defaultMaxBytes, timeout }: FetchOptions = {}
  ) {
    if (Option.isNone(reader)) return yield* unreadable("This Agent was given nothing to read documents with")
    const { size, ...found } = yield* requests.getDpe(
      computer,
      uri,
      timeout === undefined ? undefined : { timeout }
    )
    if (size !== undefined && size > maxBytes) {
      return yield* unreadable(`${uri} has ${size} bytes, more than the ${maxBytes} allowed`)
    }
    const seconds = timeout ?? defaultTransferSeconds
    const { bytes, mimeType } = yield* reader.value.read(found.uri, maxBytes).pipe(
      Effect.timeoutOrElse({
        duration: Duration.seconds(seconds),
        orElse: () => unreadable(`${uri} was not transferred within ${seconds} seconds`)
      })
    )
    return { ...(mimeType !== undefined && { mimeType }), ...found, bytes }
  })

  return {
    allResources: (computer, mcpServer) =>
      collectPages(
        (cursor) =>
          Effect.map(requests.getResources(computer, mcpServer, cursor), ({ nextCursor, resources }) => ({
            items: resources,
            nextCursor
          })),
        (message): AgentError => new BadReply({ message })
      ),
    fetchDocument
  }
})
