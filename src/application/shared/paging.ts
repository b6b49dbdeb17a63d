import { Effect } from "effect"

/** One page of a listing. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/** Pages of one listing at most; a peer that has more never ends. */
const maxPages = 1000

/**
 * Everything a listing holds, page by page. A peer that repeats a cursor or never ends is at fault: `fault` makes the
 * error of what is wrong with it.
 */
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
      const reason = seen.has(cursor) ? "a cursor came back" : `it has more than ${maxPages} pages`
      return yield* Effect.fail(toError(`the listing never ends: ${reason}`))
    }
    if (cursor !== undefined) seen.add(cursor)
  } while (cursor !== undefined)
  return items
})
