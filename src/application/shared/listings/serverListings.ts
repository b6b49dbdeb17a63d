import { Effect } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { definedOnly } from "../../../domain/objects.ts"
import {
  type ListName,
  type RepairedListing,
  repairListing,
  reservedKeysOf
} from "../../../domain/tools/listings/mcpListings.ts"
import type { McpMethod, McpPage, McpSession, McpSessionError } from "../../ports/McpSession.ts"
import { collectPages, type PagedList, parseCursor } from "../paging.ts"

/** A list of an MCP server in the form that MCP requires. */
export type ServerListing = RepairedListing & Pick<PagedList<unknown>, "incomplete">

type Listing = Effect.Effect<ServerListing, McpSessionError>

const noItems: Listing = Effect.succeed({ items: [], omitted: [] })

const listAll = (list: ListName, { info }: McpSession, fetchPage: McpSession["listTools"]): Listing =>
  Effect.map(
    collectPages(fetchPage, ({ reason }) => reason === "protocol"),
    ({ items, incomplete }) => ({
      ...repairListing(list, items, reservedKeysOf(info.name)),
      ...definedOnly({ incomplete })
    })
  )

/** Requests a page of a list whose method only some sessions have. */
export const requestPage = (
  request: NonNullable<McpSession["request"]>,
  list: ListName,
  method: McpMethod,
  params: JsonObject
): Effect.Effect<McpPage, McpSessionError> =>
  Effect.map(request(method, params), ({ nextCursor, [list]: listed }) => ({
    items: Array.isArray(listed) ? (listed as ReadonlyArray<JsonObject>) : [],
    nextCursor: parseCursor(nextCursor)
  }))

/** Lists all items of a kind that the session may lack. */
const listByRequest = (session: McpSession, list: "prompts" | "resourceTemplates", method: McpMethod): Listing => {
  const { request } = session
  if (request === undefined) return noItems
  return listAll(list, session, (cursor) => requestPage(request, list, method, definedOnly({ cursor })))
}

export const listResources = (session: McpSession): Listing =>
  session.info.capabilities.resources ? listAll("resources", session, session.listResources) : noItems

/** The lists of a session, without the items that clients would reject with a whole list. */
export const serverListings = (session: McpSession) => {
  const { prompts, resources, tools } = session.info.capabilities
  return {
    tools: tools ? listAll("tools", session, session.listTools) : noItems,
    resources: listResources(session),
    prompts: prompts === true ? listByRequest(session, "prompts", "prompts/list") : noItems,
    // Not every server with resources knows templates.
    templates: Effect.catchIf(
      resources ? listByRequest(session, "resourceTemplates", "resources/templates/list") : noItems,
      ({ code, reason }) => reason === "unsupported" || code === jsonRpcCodes.methodNotFound,
      () => noItems
    )
  }
}

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
