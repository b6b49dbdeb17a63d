import type { Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { collectPages } from "./paging.ts"
import { McpSessionError, type McpPage } from "../ports/McpSession.ts"

/** Collects all pages of a list of an MCP server. */
export const listAllPages = (
  page: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>
): Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError> =>
  collectPages(page, (message) => new McpSessionError({ reason: "protocol", message }))
