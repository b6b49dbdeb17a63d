import type { Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { everyPage } from "../paging.ts"
import { McpFailure, type McpPage } from "../ports/McpSession.ts"

/** Everything an MCP server lists, page by page; one that never ends is at fault. */
export const allPages = (
  page: (cursor?: string) => Effect.Effect<McpPage, McpFailure>
): Effect.Effect<ReadonlyArray<JsonObject>, McpFailure> =>
  everyPage(page, (message) => new McpFailure({ kind: "protocol", message }))
