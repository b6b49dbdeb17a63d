import { Data, Effect } from "effect"
import type { McpFailure, McpPage, McpSession } from "../../../application/ports/McpSession.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { methodNotFound } from "../reading.ts"
import { type TellProgress, withHeartbeat } from "./progress.ts"

const invalidParams = -32602
const internalError = -32603

/** What is answered as a JSON-RPC error; the SDK reads its code and message. */
export class Refusal extends Data.TaggedError("Refusal")<{
  readonly code: number
  readonly message: string
}> {}

/** The resources a client is subscribed to. */
export interface Subscriptions {
  /** Subscribing twice is subscribing once. */
  readonly add: (uri: string) => Effect.Effect<void, McpFailure | Refusal>
  /** Ends a subscription, if there is one. */
  readonly remove: (uri: string) => Effect.Effect<void>
}

/** A request of a client. */
export interface Asked {
  readonly method: string
  readonly params: JsonObject
  /** Given when the client wants to know how far a call is. */
  readonly progress: TellProgress | undefined
  /** Given where the client's revision of MCP has `resources/subscribe`. */
  readonly subscriptions: Subscriptions | undefined
  /** True for revisions in which `structuredContent` can only be an object. */
  readonly needsObjects: boolean
}

/** The JSON-RPC error for a request that the session could not answer. */
export const refusalOf = ({ code, kind, message }: McpFailure): Refusal => {
  if (kind === "unsupported") return new Refusal({ code: methodNotFound, message })
  return new Refusal({ code: code ?? internalError, message })
}

const unknownMethod = (method: string) =>
  new Refusal({ code: methodNotFound, message: `Method not found: ${method}` })

const wrong = (message: string) => new Refusal({ code: invalidParams, message })

/** Why a call has no result of its own, in words that tell a model what it can do. */
const explain = (tool: string, { code, kind, message }: McpFailure): string => {
  switch (kind) {
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

const failedCall = (tool: string, failure: McpFailure): JsonObject => ({
  content: [{ type: "text", text: explain(tool, failure) }],
  isError: true
})

/** Puts structured content that is no object into one, as the listing says for these revisions. */
const asObject = (result: JsonObject): JsonObject => {
  const { structuredContent } = result
  return structuredContent === undefined || isJsonObject(structuredContent)
    ? result
    : { ...result, structuredContent: { result: structuredContent } }
}

const pageOf = (items: "tools" | "resources", { items: listed, nextCursor }: McpPage): JsonObject => ({
  [items]: listed,
  ...(nextCursor !== undefined && { nextCursor })
})

const readText = (params: JsonObject, name: string): Effect.Effect<string, Refusal> => {
  const { [name]: value } = params
  return typeof value === "string" ? Effect.succeed(value) : Effect.fail(wrong(`'${name}' must be a string`))
}

/** Lists the page that is asked for. */
const list = (
  items: "tools" | "resources",
  page: (cursor?: string) => Effect.Effect<McpPage, McpFailure>,
  params: JsonObject
) =>
  Effect.map(
    params["cursor"] === undefined ? page() : Effect.flatMap(readText(params, "cursor"), page),
    (found) => pageOf(items, found)
  )

/** Answers requests of clients out of a session; what the session gives goes on as it is. */
export const makeAnswers = (session: McpSession) => {
  const { resources, subscribe, tools } = session.info.capabilities

  const call = Effect.fnUntraced(function* ({ needsObjects, params, progress }: Asked) {
    const name = yield* readText(params, "name")
    const { arguments: args = {} } = params
    if (!isJsonObject(args)) return yield* wrong("'arguments' must be an object")
    const calling =
      progress === undefined
        ? session.callTool(name, args)
        : withHeartbeat(progress, (onProgress) => session.callTool(name, args, { onProgress }))
    const result = yield* Effect.catchIf(
      calling,
      ({ kind }) => kind !== "unsupported",
      (failure) => Effect.succeed(failedCall(name, failure))
    )
    return needsObjects ? asObject(result) : result
  })

  const subscribing = Effect.fnUntraced(function* ({ method, params, subscriptions }: Asked) {
    if (!subscribe || subscriptions === undefined) return yield* unknownMethod(method)
    const uri = yield* readText(params, "uri")
    yield* method === "resources/subscribe" ? subscriptions.add(uri) : subscriptions.remove(uri)
    return {}
  })

  const ofTools = (asked: Asked): Effect.Effect<JsonObject, McpFailure | Refusal> => {
    const { method, params } = asked
    if (method === "tools/call") return call(asked)
    return list("tools", session.listTools, params)
  }
  const ofResources = (asked: Asked): Effect.Effect<JsonObject, McpFailure | Refusal> => {
    const { method, params } = asked
    switch (method) {
      case "resources/list":
        return list("resources", session.listResources, params)
      case "resources/read":
        return Effect.map(Effect.flatMap(readText(params, "uri"), session.readResource), (contents) => ({
          contents
        }))
      case "resources/templates/list":
        // Sessions know none; clients ask whoever has resources, and do not expect to be refused.
        return Effect.succeed({ resourceTemplates: [] })
      default:
        return subscribing(asked)
    }
  }
  const methods = new Map<string, (asked: Asked) => Effect.Effect<JsonObject, McpFailure | Refusal>>([
    ...(tools ? (["tools/list", "tools/call"] as const) : []).map((method) => [method, ofTools] as const),
    ...(resources
      ? ([
          "resources/list",
          "resources/read",
          "resources/templates/list",
          "resources/subscribe",
          "resources/unsubscribe"
        ] as const)
      : []
    ).map((method) => [method, ofResources] as const)
  ])

  return (asked: Asked): Effect.Effect<JsonObject, Refusal> => {
    const answer = methods.get(asked.method)
    if (answer === undefined) return Effect.fail(unknownMethod(asked.method))
    return Effect.catchTag(answer(asked), "McpFailure", (failure) => Effect.fail(refusalOf(failure)))
  }
}
