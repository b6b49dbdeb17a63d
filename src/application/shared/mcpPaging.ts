import type { Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { collectPages } from "./paging.ts"
import { McpSessionError, type McpPage } from "../ports/McpSession.ts"

/** Everything an MCP server lists, page by page; one that never ends is at fault. */
export const listAllPages = (
  page: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>
): Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError> =>
  collectPages(page, (message) => new McpSessionError({ reason: "protocol", message }))
