import { Duration, Effect, Option } from "effect"
import { definedOnly } from "../../domain/objects.ts"
import type { JsonObject } from "../../domain/json.ts"
import { makeListingReport } from "../shared/listings/serverListings.ts"
import { collectPages } from "../shared/paging.ts"
import { DocumentReader, DocumentUnreadable } from "../ports/files/DocumentReader.ts"
import type { AgentError } from "./AgentErrors.ts"
import type { AgentRequests } from "./AgentRequests.ts"
import { type BlobOptions, defaultMaxBytes, defaultTimeoutSeconds } from "./blobs.ts"
import type { DocumentLocation } from "../../domain/model/messages/requests.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

/** The bytes of a document and the metadata that its Computer sent. */
export interface FetchedDocument extends Omit<DocumentLocation, "size"> {
  readonly bytes: Uint8Array
}

/** Limits for fetching a document; the timeout applies to the Computer's reply and again to the transfer. */
export interface FetchOptions extends BlobOptions {}

/** Operations that need more than one request. */
export interface AgentQueries {
  /** Lists all resources of an MCP server, page by page. */
  readonly allResources: (
    computer: ComputerName,
    mcpServer: string
  ) => Effect.Effect<ReadonlyArray<JsonObject>, AgentError>
  /**
   * Fetches a `dpe://` document: asks the Computer for its location and reads it from there over HTTP. Local files are
   * readable only in folders that the host allows.
   */
  readonly fetchDocument: (
    computer: ComputerName,
    uri: string,
    options?: FetchOptions
  ) => Effect.Effect<FetchedDocument, AgentError | DocumentUnreadable>
}

const unreadable = (message: string) => Effect.fail(new DocumentUnreadable({ message }))

/** Documents need a {@link DocumentReader} in the context. */
export const makeAgentQueries = Effect.fnUntraced(function* (requests: AgentRequests): Effect.fn.Return<AgentQueries> {
  const reader = yield* Effect.serviceOption(DocumentReader)
  return {
    allResources: Effect.fnUntraced(function* (computer, server) {
      const listing = yield* collectPages((cursor) =>
        Effect.map(requests.getResources(computer, server, definedOnly({ cursor })), (page) => ({
          items: page.resources,
          nextCursor: page.nextCursor
        }))
      )
      return yield* makeListingReport({ computer, server })("resources", { ...listing, omitted: [] })
    }),
    fetchDocument: Effect.fn("Agent.fetchDocument")(function* (computer, uri, options = {}) {
      const { maxBytes = defaultMaxBytes, timeout } = options
      if (Option.isNone(reader)) return yield* unreadable("No DocumentReader is provided")
      const { size, ...found } = yield* requests.getDpe(computer, uri, definedOnly({ timeout }))
      if (size !== undefined && size > maxBytes) {
        return yield* unreadable(`${uri} has ${size} bytes, more than the ${maxBytes} allowed`)
      }
      const seconds = timeout ?? defaultTimeoutSeconds
      const { bytes, mimeType } = yield* reader.value.read(found.uri, maxBytes).pipe(
        Effect.timeoutOrElse({
          duration: Duration.seconds(seconds),
          orElse: () => unreadable(`${uri} was not transferred within ${seconds} seconds`)
        })
      )
      return { ...definedOnly({ mimeType }), ...found, bytes }
    })
  }
})
