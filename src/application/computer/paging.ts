import { Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { McpFailure, type McpPage } from "../ports/McpSession.ts"

/** Pages of one listing at most; a peer that has more never ends. */
const maxPages = 1000

/** Everything a listing holds, page by page. A peer that repeats a cursor or never ends is at fault. */
export const allPages = Effect.fnUntraced(function* (
  page: (cursor?: string) => Effect.Effect<McpPage, McpFailure>
): Effect.fn.Return<ReadonlyArray<JsonObject>, McpFailure> {
  const items: Array<JsonObject> = []
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    const { items: more, nextCursor } = yield* cursor === undefined ? page() : page(cursor)
    for (const item of more) items.push(item)
    cursor = nextCursor
    if (cursor !== undefined && (seen.has(cursor) || seen.size >= maxPages - 1)) {
      const why = seen.has(cursor) ? "a cursor came back" : `it has more than ${maxPages} pages`
      return yield* new McpFailure({ kind: "protocol", message: `the listing never ends: ${why}` })
    }
    if (cursor !== undefined) seen.add(cursor)
  } while (cursor !== undefined)
  return items
})
