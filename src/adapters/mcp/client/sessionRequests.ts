import { Effect, FiberSet } from "effect"
import type { McpSession, McpSessionError } from "../../../application/ports/McpSession.ts"
import { withPeerSpan } from "../../../application/shared/tracing.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { asString, checkJsonBody, isJsonObject, type JsonObject } from "../../../domain/json.ts"

/** Sends a request and returns the result as it is. Interruption cancels the request. */
export type SendRequest = (
  method: string,
  params: JsonObject,
  /** Receives the parameters of progress notifications. */
  onProgress?: (params: JsonObject) => void
) => Effect.Effect<JsonObject, McpSessionError>

/** The objects that a message can hold. One excessively nested item would cost the whole listing. */
const sendableItems = (name: string, list: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(list) ? list.filter(isJsonObject).filter((item) => checkJsonBody({ [name]: [item] }) === undefined) : []

/** Makes the requests that are the same in every MCP revision. */
export const makeSessionRequests = Effect.fnUntraced(function* (request: SendRequest) {
  const run = yield* FiberSet.makeRuntime()
  const list = (name: "tools" | "resources") =>
    Effect.fnUntraced(function* (cursor?: string) {
      const { nextCursor, [name]: listed } = yield* request(`${name}/list`, cursor === undefined ? {} : { cursor })
      const items = sendableItems(name, listed)
      const omitted = (Array.isArray(listed) ? listed.length : 0) - items.length
      if (omitted > 0) yield* Effect.logWarning("items omitted from listing: not encodable", { list: name, omitted })
      return { items, nextCursor: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined }
    })
  const callTool: McpSession["callTool"] = (name, params, { onProgress } = {}) =>
    withPeerSpan(`tools/call ${name}`, { "mcp.method.name": "tools/call", "gen_ai.tool.name": name }, (traceparent) =>
      request(
        "tools/call",
        // SEP-414: MCP servers read the trace context here.
        { name, arguments: params, ...(traceparent !== undefined && { _meta: { traceparent } }) },
        onProgress &&
          (({ message, progress, total }) => {
            if (typeof progress !== "number") return
            const known = { total: typeof total === "number" ? total : undefined, message: asString(message) }
            run(onProgress({ progress, ...definedOnly(known) }))
          })
      )
    )
  return {
    listTools: list("tools"),
    listResources: list("resources"),
    readResource: (uri: string) =>
      Effect.map(request("resources/read", { uri }), ({ contents }) => sendableItems("contents", contents)),
    callTool
  }
})
