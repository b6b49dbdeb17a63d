import { Effect, Result } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { McpPage, McpSessionError } from "../ports/McpSession.ts"

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/** The cursor of the next page as the text that MCP requires; some servers number their pages. */
export const parseCursor = (value: unknown): string | undefined => {
  const cursor = typeof value === "number" ? String(value) : value
  return typeof cursor === "string" && cursor !== "" ? cursor : undefined
}

/** Limit of pages, against a peer whose list never ends. */
const maxPages = 1000

/** The items of all pages. */
export interface PagedList<A> {
  readonly items: ReadonlyArray<A>
  /** Why later pages are missing. */
  readonly incomplete?: string
}

/** Collects all pages of a list, until the peer repeats a cursor or a page, refuses a cursor, or has too many pages. */
export const collectPages = Effect.fnUntraced(function* <A, E extends { readonly message: string }>(
  fetchPage: (cursor?: string) => Effect.Effect<Page<A>, E>,
  isRefusal = (_error: E): boolean => false
): Effect.fn.Return<PagedList<A>, E> {
  const items: Array<A> = []
  const seen = { cursors: new Set<string>(), pages: new Set<string>() }
  let cursor: string | undefined
  for (let count = 0; count < maxPages; count++) {
    const fetched = yield* Effect.result(cursor === undefined ? fetchPage() : fetchPage(cursor))
    if (Result.isFailure(fetched)) {
      if (count === 0 || !isRefusal(fetched.failure)) return yield* Effect.fail(fetched.failure)
      return { items, incomplete: `a page was refused: ${fetched.failure.message}` }
    }
    const { items: more, nextCursor } = fetched.success
    // The empty text is no cursor.
    const isLast = nextCursor === undefined || nextCursor === ""
    // An empty page may come before others.
    const page = more.length === 0 || (isLast && count === 0) ? String(count) : JSON.stringify(more)
    if (seen.pages.has(page)) return { items, incomplete: "a page was repeated" }
    for (const item of more) items.push(item)
    if (isLast) return { items }
    if (seen.cursors.has(nextCursor)) return { items, incomplete: "a cursor was repeated" }
    seen.pages.add(page)
    seen.cursors.add(nextCursor)
    cursor = nextCursor
  }
  return { items, incomplete: `it has more than ${maxPages} pages` }
})

/** {@link collectPages} for callers that need no reason why pages are missing. */
export const listAllPages = (
  page: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>
): Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError> => Effect.map(collectPages(page), ({ items }) => items)
