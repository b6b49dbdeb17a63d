import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { makeListingReport, type ServerListing } from "../../../../src/application/shared/listings/serverListings.ts"

const omit = (name: string, reason = "name: not a text") => ({ name, reason })
const listingOf = (listing: Partial<ServerListing>): ServerListing => ({ items: [], omitted: [], ...listing })

/** What the report of these listings logs, one after the other. */
const logsOf = (listings: ReadonlyArray<readonly [list: string, listing: Partial<ServerListing>]>) => {
  const logs: Array<unknown> = []
  const logger = Logger.make(({ message }) => void logs.push(message))
  const report = makeListingReport({ office: "O1" })
  return Effect.forEach(listings, ([list, listing]) => report(list, listingOf(listing))).pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.as(logs)
  )
}

const omittedLog = (list: string, items: ReadonlyArray<unknown>, omitted = items.length) => [
  "items omitted from listing",
  { office: "O1", list, omitted, items }
]

describe("the report of a listing", () => {
  it.effect("gives the items", () =>
    Effect.gen(function* () {
      const items = [{ name: "a" }]
      const report = makeListingReport({ office: "O1" })
      assert.strictEqual(yield* report("tools", listingOf({ items })), items)
    })
  )

  it.effect("logs each missing item once for its list and reason", () =>
    Effect.gen(function* () {
      const logs = yield* logsOf([
        ["tools", { omitted: [omit("a")] }],
        ["tools", { omitted: [omit("a"), omit("b")] }],
        ["prompts", { omitted: [omit("a")] }],
        ["tools", { omitted: [omit("a", "another reason")] }],
        ["tools", { omitted: [omit("b"), omit("a")] }]
      ])
      assert.deepStrictEqual(logs, [
        omittedLog("tools", [omit("a")]),
        omittedLog("tools", [omit("b")]),
        omittedLog("prompts", [omit("a")]),
        omittedLog("tools", [omit("a", "another reason")])
      ])
    })
  )

  it.effect("names ten items and counts all", () =>
    Effect.gen(function* () {
      const omitted = Array.from({ length: 12 }, (_, n) => omit(`t${n}`))
      assert.deepStrictEqual(yield* logsOf([["tools", { omitted }]]), [omittedLog("tools", omitted.slice(0, 10), 12)])
    })
  )

  it.effect("logs rounded integers and the reason of missing pages once", () =>
    Effect.gen(function* () {
      const listing = { rounded: [{ name: "a", places: ["/default"] }], incomplete: "a page was repeated" }
      const logs = yield* logsOf([
        ["tools", listing],
        ["tools", listing]
      ])
      assert.deepStrictEqual(logs, [
        ["rounded integers omitted from listing", { office: "O1", list: "tools", items: listing.rounded }],
        ["listing cut short", { office: "O1", list: "tools", reason: "a page was repeated" }]
      ])
    })
  )

  it.effect("logs at most 1000 problems", () =>
    Effect.gen(function* () {
      const omitted = Array.from({ length: 1001 }, (_, n) => omit(`t${n}`))
      const logs = yield* logsOf([
        ["tools", { omitted }],
        ["tools", { omitted: [omit("other")] }]
      ])
      assert.deepStrictEqual(logs, [omittedLog("tools", omitted.slice(0, 10), 1000)])
    })
  )
})
