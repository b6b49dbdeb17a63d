import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { collectPages } from "../../../src/application/shared/paging.ts"

const refused = { message: "Invalid cursor" }
type Answer = { readonly items: ReadonlyArray<number>; readonly nextCursor: string | undefined } | undefined

/** Collects the pages that a peer answers by its cursors; a missing page is refused. */
const collect = (page: (cursor: string) => Answer, isRefusal?: () => boolean) => {
  let requests = 0
  const fetchPage = (cursor = "first") =>
    Effect.suspend(() => {
      requests += 1
      const answer = page(cursor)
      return answer === undefined ? Effect.fail(refused) : Effect.succeed(answer)
    })
  return Effect.map(collectPages(fetchPage, isRefusal), (list) => ({ ...list, requests }))
}

const pages =
  (answers: { readonly [cursor: string]: readonly [ReadonlyArray<number>, string?] }) =>
  (cursor: string): Answer => {
    const [items, nextCursor] = answers[cursor] ?? []
    return items === undefined ? undefined : { items, nextCursor }
  }

describe("collectPages", () => {
  it.effect.each([
    ["one page", pages({ first: [[1, 2]] }), { items: [1, 2], requests: 1 }],
    ["a list of no items", pages({ first: [[]] }), { items: [], requests: 1 }],
    ["an empty page before others", pages({ first: [[], "a"], a: [[], "b"], b: [[1]] }), { items: [1], requests: 3 }],
    ["the empty text as the last cursor", pages({ first: [[1], "a"], a: [[2], ""] }), { items: [1, 2], requests: 2 }],
    [
      "a cursor that repeats itself",
      pages({ first: [[1], "a"], a: [[2], "a"] }),
      { items: [1, 2], incomplete: "a cursor was repeated", requests: 2 }
    ],
    [
      "a cycle of cursors",
      pages({ first: [[1], "a"], a: [[2], "b"], b: [[3], "a"] }),
      { items: [1, 2, 3], incomplete: "a cursor was repeated", requests: 3 }
    ],
    [
      "the first page under a new cursor",
      (cursor: string): Answer => ({ items: [1, 2], nextCursor: `${cursor}x` }),
      { items: [1, 2], incomplete: "a page was repeated", requests: 2 }
    ],
    [
      "a page that ends the list with an earlier page",
      pages({ first: [[1], "a"], a: [[1]] }),
      { items: [1], incomplete: "a page was repeated", requests: 2 }
    ]
  ] as const)("stops at the end of %s", ([, page, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>(yield* collect(page), expected)
    })
  )

  it.effect("stops at the limit of pages", () =>
    Effect.gen(function* () {
      let next = 0
      const { incomplete, items } = yield* collect(() => ({ items: [++next], nextCursor: `c${next}` }))
      assert.deepStrictEqual([items.length, incomplete], [1000, "it has more than 1000 pages"])
    })
  )

  it.effect("keeps the pages before one that is refused", () =>
    Effect.gen(function* () {
      const page = pages({ first: [[1], "a"] })
      const expected = { items: [1], incomplete: "a page was refused: Invalid cursor", requests: 2 }
      assert.deepStrictEqual<unknown>(yield* collect(page, () => true), expected)
      assert.strictEqual(yield* Effect.flip(collect(page)), refused)
      assert.strictEqual(
        yield* Effect.flip(
          collect(
            () => undefined,
            () => true
          )
        ),
        refused
      )
    })
  )
})
