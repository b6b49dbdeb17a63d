import { Effect, FiberSet, type Scope } from "effect"
import type { McpSessionError, McpProgress, McpSession } from "../../../application/ports/McpSession.ts"
import { withPeerSpan } from "../../../application/shared/tracing.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { decodeContents, decodePage } from "./mcpMessages.ts"

/** Sends a request and returns the result as it is. Interruption cancels the request. */
export type SendRequest = (
  method: string,
  params: JsonObject,
  onProgress?: (progress: McpProgress) => void
) => Effect.Effect<JsonObject, McpSessionError>

/** Makes the requests that are the same in every MCP revision. */
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
            // SEP-414: MCP servers read the trace context here.
            { name, arguments: args, ...(traceparent !== undefined && { _meta: { traceparent } }) },
            onProgress === undefined ? undefined : (progress) => void run(onProgress(progress))
          )
      )
  }
})
