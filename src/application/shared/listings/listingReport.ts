import { Effect } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import type { ServerListing } from "./serverListings.ts"

/** Maximum number of items that a log line names. */
const maxNamedItems = 10

/** Maximum number of problems that are remembered as logged. */
const maxReportedProblems = 1000

/** Gives the items of a list, and logs what is missing. */
export type ListingReport = (list: string, listing: ServerListing) => Effect.Effect<ReadonlyArray<JsonObject>>

/** Makes a report that logs each missing item and its reason once; `source` are fields of the log. */
export const makeListingReport = (source: { readonly [field: string]: string }): ListingReport => {
  const reported = new Set<string>()
  return Effect.fnUntraced(function* (list, { incomplete, items, omitted, rounded = [] }) {
    const isNew = (problem: unknown): boolean => {
      const text = JSON.stringify([list, problem])
      if (reported.has(text) || reported.size >= maxReportedProblems) return false
      reported.add(text)
      return true
    }
    const missing = omitted.filter(isNew)
    if (missing.length > 0) {
      const named = missing.slice(0, maxNamedItems)
      yield* Effect.logWarning("items omitted from listing", { ...source, list, omitted: missing.length, items: named })
    }
    const inexact = rounded.filter(isNew)
    if (inexact.length > 0) {
      const named = inexact.slice(0, maxNamedItems)
      yield* Effect.logWarning("rounded integers omitted from listing", { ...source, list, items: named })
    }
    if (incomplete !== undefined && isNew(incomplete)) {
      yield* Effect.logWarning("listing cut short", { ...source, list, reason: incomplete })
    }
    return items
  })
}
