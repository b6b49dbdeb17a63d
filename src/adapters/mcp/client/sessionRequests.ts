import { Effect, FiberSet, type Scope } from "effect"
import type { McpSessionError, McpProgress, McpSession } from "../../../application/ports/McpSession.ts"
import { withPeerSpan } from "../../../application/shared/tracing.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { decodeContents, decodePage } from "./mcpMessages.ts"

/** Sends a request to an MCP server and gives its result, untouched. Interrupting it gives the request up. */
export type SendRequest = (
  method: string,
  params: JsonObject,
  onProgress?: (progress: McpProgress) => void
) => Effect.Effect<JsonObject, McpSessionError>

/** What a session asks of its server in the same words in every revision of MCP. */
export const makeSessionRequests = Effect.fnUntraced(function* (
  request: SendRequest
): Effect.fn.Return<
  Pick<McpSession, "listTools" | "listResources" | "readResource" | "callTool">,
  never,
  Scope.Scope
> {
  const run = yield* FiberSet.makeRuntime()
  const list = (items: "tools" | "resources") =>
    Effect.fnUntraced(function* (cursor?: string) {
      const result = yield* request(`${items}/list`, cursor === undefined ? {} : { cursor })
      const page = decodePage(result, items)
      const { [items]: all } = result
      const omitted = (Array.isArray(all) ? all.length : 0) - page.items.length
      if (omitted > 0)
        yield* Effect.logWarning("items omitted from listing: not encodable", { list: items, omitted })
      return page
    })
  return {
    listTools: list("tools"),
    listResources: list("resources"),
    readResource: (uri) => Effect.map(request("resources/read", { uri }), decodeContents),
    callTool: (name, args, { onProgress } = {}) =>
      withPeerSpan(
        `tools/call ${name}`,
        { "mcp.method.name": "tools/call", "gen_ai.tool.name": name },
        (traceparent) =>
          request(
            "tools/call",
            // Where MCP servers look for the trace that they are part of (SEP-414).
            { name, arguments: args, ...(traceparent !== undefined && { _meta: { traceparent } }) },
            onProgress === undefined ? undefined : (progress) => void run(onProgress(progress))
          )
      )
  }
})
