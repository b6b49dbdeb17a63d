import { Data, Effect } from "effect"
import type { McpSessionError, McpPage, McpSession } from "../../../application/ports/McpSession.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { methodNotFound } from "../client/mcpMessages.ts"
import { type SendProgress, withHeartbeat } from "./progressHeartbeat.ts"

const invalidParams = -32602
const internalError = -32603

/** What is answered as a JSON-RPC error; the SDK reads its code and message. */
export class JsonRpcError extends Data.TaggedError("Refusal")<{
  readonly code: number
  readonly message: string
}> {}

/** The resources a client is subscribed to. */
export interface ResourceSubscriptions {
  /** Subscribing twice is subscribing once. */
  readonly add: (uri: string) => Effect.Effect<void, McpSessionError | JsonRpcError>
  /** Ends a subscription, if there is one. */
  readonly remove: (uri: string) => Effect.Effect<void>
}

/** A request of a client. */
export interface McpRequest {
  readonly method: string
  readonly params: JsonObject
  /** Given when the client wants to know how far a call is. */
  readonly sendProgress: SendProgress | undefined
  /** Given where the client's revision of MCP has `resources/subscribe`. */
  readonly subscriptions: ResourceSubscriptions | undefined
  /** True for revisions in which `structuredContent` can only be an object. */
  readonly requiresObjectContent: boolean
}

/** The JSON-RPC error for a request that the session could not answer. */
export const toJsonRpcError = ({ code, reason, message }: McpSessionError): JsonRpcError => {
  if (reason === "unsupported") return new JsonRpcError({ code: methodNotFound, message })
  return new JsonRpcError({ code: code ?? internalError, message })
}

const methodNotFoundError = (method: string) =>
  new JsonRpcError({ code: methodNotFound, message: `Method not found: ${method}` })

const invalidParamsError = (message: string) => new JsonRpcError({ code: invalidParams, message })

/** Why a call has no result of its own, in words that tell a model what it can do. */
const describeFailure = (tool: string, { code, reason, message }: McpSessionError): string => {
  switch (reason) {
    case "closed":
      return `The connection to the tool '${tool}' was lost before it answered: ${message}. It may have done its work or not; find out before you call it again.`
    case "unavailable":
      return `The tool '${tool}' cannot be reached: ${message}. Try again later, or use another tool.`
    case "protocol":
      return `The tool '${tool}' refused the call: ${message}${code === undefined ? "" : ` (error ${code})`}. Check its name and the arguments against the list of tools.`
    case "unauthorized":
    case "forbidden":
      return `The tool '${tool}' may not be used: ${message}. A person has to grant access first; calling again does not help.`
    case "unsupported":
      return message
  }
}

const toFailedCallResult = (tool: string, failure: McpSessionError): JsonObject => ({
  content: [{ type: "text", text: describeFailure(tool, failure) }],
  isError: true
})

/** Puts structured content that is no object into one, as the listing says for these revisions. */
const withObjectContent = (result: JsonObject): JsonObject => {
  const { structuredContent } = result
  return structuredContent === undefined || isJsonObject(structuredContent)
    ? result
    : { ...result, structuredContent: { result: structuredContent } }
}

const toListResult = (items: "tools" | "resources", { items: listed, nextCursor }: McpPage): JsonObject => ({
  [items]: listed,
  ...(nextCursor !== undefined && { nextCursor })
})

const requireString = (params: JsonObject, name: string): Effect.Effect<string, JsonRpcError> => {
  const { [name]: value } = params
  return typeof value === "string"
    ? Effect.succeed(value)
    : Effect.fail(invalidParamsError(`'${name}' must be a string`))
}

/** Lists the page that is asked for. */
const listPage = (
  items: "tools" | "resources",
  page: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>,
  params: JsonObject
) =>
  Effect.map(
    params["cursor"] === undefined ? page() : Effect.flatMap(requireString(params, "cursor"), page),
    (found) => toListResult(items, found)
  )

/** Answers requests of clients out of a session; what the session gives goes on as it is. */
export const makeMethodHandler = (session: McpSession) => {
  const { resources, subscribe, tools } = session.info.capabilities

  const callTool = Effect.fnUntraced(function* ({ requiresObjectContent, params, sendProgress }: McpRequest) {
    const name = yield* requireString(params, "name")
    const { arguments: args = {} } = params
    if (!isJsonObject(args)) return yield* invalidParamsError("'arguments' must be an object")
    const calling =
      sendProgress === undefined
        ? session.callTool(name, args)
        : withHeartbeat(sendProgress, (onProgress) => session.callTool(name, args, { onProgress }))
    const result = yield* Effect.catchIf(
      calling,
      ({ reason }) => reason !== "unsupported",
      (failure) => Effect.succeed(toFailedCallResult(name, failure))
    )
    return requiresObjectContent ? withObjectContent(result) : result
  })

  const updateSubscription = Effect.fnUntraced(function* ({ method, params, subscriptions }: McpRequest) {
    if (!subscribe || subscriptions === undefined) return yield* methodNotFoundError(method)
    const uri = yield* requireString(params, "uri")
    yield* method === "resources/subscribe" ? subscriptions.add(uri) : subscriptions.remove(uri)
    return {}
  })

  const handleTools = (request: McpRequest): Effect.Effect<JsonObject, McpSessionError | JsonRpcError> => {
    const { method, params } = request
    if (method === "tools/call") return callTool(request)
    return listPage("tools", session.listTools, params)
  }
  const handleResources = (
    request: McpRequest
  ): Effect.Effect<JsonObject, McpSessionError | JsonRpcError> => {
    const { method, params } = request
    switch (method) {
      case "resources/list":
        return listPage("resources", session.listResources, params)
      case "resources/read":
        return Effect.map(Effect.flatMap(requireString(params, "uri"), session.readResource), (contents) => ({
          contents
        }))
      case "resources/templates/list":
        // Sessions know none; clients ask whoever has resources, and do not expect to be refused.
        return Effect.succeed({ resourceTemplates: [] })
      default:
        return updateSubscription(request)
    }
  }
  const methods = new Map<
    string,
    (request: McpRequest) => Effect.Effect<JsonObject, McpSessionError | JsonRpcError>
  >([
    ...(tools ? (["tools/list", "tools/call"] as const) : []).map((method) => [method, handleTools] as const),
    ...(resources
      ? ([
          "resources/list",
          "resources/read",
          "resources/templates/list",
          "resources/subscribe",
          "resources/unsubscribe"
        ] as const)
      : []
    ).map((method) => [method, handleResources] as const)
  ])

  return (request: McpRequest): Effect.Effect<JsonObject, JsonRpcError> => {
    const handler = methods.get(request.method)
    if (handler === undefined) return Effect.fail(methodNotFoundError(request.method))
    return Effect.catchTag(handler(request), "McpSessionError", (failure) =>
      Effect.fail(toJsonRpcError(failure))
    )
  }
}
