import { Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { McpSessionError, type McpPage } from "../ports/McpSession.ts"

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/** Limit of pages, against a peer whose list never ends. */
const maxPages = 1000

/** Collects all pages of a list. Fails when the peer repeats a cursor or exceeds the limit of pages. */
export const collectPages = Effect.fnUntraced(function* <A, E>(
  fetchPage: (cursor?: string) => Effect.Effect<Page<A>, E>,
  toError: (reason: string) => E
): Effect.fn.Return<ReadonlyArray<A>, E> {
  const items: Array<A> = []
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    const { items: more, nextCursor } = yield* cursor === undefined ? fetchPage() : fetchPage(cursor)
    for (const item of more) items.push(item)
    cursor = nextCursor
    if (cursor !== undefined && (seen.has(cursor) || seen.size >= maxPages - 1)) {
      const reason = seen.has(cursor) ? "a cursor was repeated" : `it has more than ${maxPages} pages`
      return yield* Effect.fail(toError(`the listing never ends: ${reason}`))
    }
    if (cursor !== undefined) seen.add(cursor)
  } while (cursor !== undefined)
  return items
})

export const listAllPages = (
  page: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>
): Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError> =>
  collectPages(page, (message) => new McpSessionError({ reason: "protocol", message }))
