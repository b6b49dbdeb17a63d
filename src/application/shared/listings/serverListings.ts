import { Effect } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { definedOnly } from "../../../domain/objects.ts"
import {
  type ListName,
  type RepairedListing,
  repairListing,
  reservedKeysOf
} from "../../../domain/tools/mcpListings.ts"
import type { McpMethod, McpSession, McpSessionError } from "../../ports/McpSession.ts"
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

/** Lists all items of a kind that the session may lack. */
const listByRequest = (session: McpSession, list: "prompts" | "resourceTemplates", method: McpMethod): Listing => {
  const { request } = session
  if (request === undefined) return noItems
  return listAll(list, session, (cursor) =>
    Effect.map(request(method, definedOnly({ cursor })), ({ nextCursor, [list]: listed }) => ({
      items: Array.isArray(listed) ? (listed as ReadonlyArray<JsonObject>) : [],
      nextCursor: parseCursor(nextCursor)
    }))
  )
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
