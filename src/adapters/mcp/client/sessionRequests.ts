import { Effect, FiberSet } from "effect"
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

type CallOptions = NonNullable<Parameters<McpSession["callTool"]>[2]>

/** Makes the requests that are the same in every MCP revision. */
export const makeSessionRequests = Effect.fnUntraced(function* (request: SendRequest) {
  const run = yield* FiberSet.makeRuntime()
  const list = (items: "tools" | "resources") =>
    Effect.fnUntraced(function* (cursor?: string) {
      const result = yield* request(`${items}/list`, cursor === undefined ? {} : { cursor })
      const page = decodePage(result, items)
      const { [items]: all } = result
      const omitted = (Array.isArray(all) ? all.length : 0) - page.items.length
      if (omitted > 0) yield* Effect.logWarning("items omitted from listing: not encodable", { list: items, omitted })
      return page
    })
  return {
    listTools: list("tools"),
    listResources: list("resources"),
    readResource: (uri: string) => Effect.map(request("resources/read", { uri }), decodeContents),
    callTool: (name: string, args: JsonObject, { onProgress }: CallOptions = {}) =>
      withPeerSpan(`tools/call ${name}`, { "mcp.method.name": "tools/call", "gen_ai.tool.name": name }, (traceparent) =>
        request(
          "tools/call",
          // SEP-414: MCP servers read the trace context here.
          { name, arguments: args, ...(traceparent !== undefined && { _meta: { traceparent } }) },
          onProgress === undefined ? undefined : (progress) => void run(onProgress(progress))
        )
      )
  }
})
