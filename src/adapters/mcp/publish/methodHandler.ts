import { Effect } from "effect"
import type { InputResponder, McpMethod, McpSession, McpSessionError } from "../../../application/ports/McpSession.ts"
import type { PublishableSession } from "../../../application/shared/listings/publishableSession.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { asObject, isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { isAppOnly, isAppResource } from "../../../domain/tools/appTools.ts"
import type { makeResourceSubscriptions } from "./ChangeFeed.ts"
import { JsonRpcError, jsonRpcError, toJsonRpcError } from "./jsonRpcErrors.ts"
import type { InputRound, makeInputRounds } from "./inputRounds.ts"
import { type PublishedTasks, tasksExtension } from "./publishedTasks.ts"
import { type SendProgress, withHeartbeat } from "./progressHeartbeat.ts"

export interface MethodRequest {
  readonly method: string
  readonly params: JsonObject
  readonly sendProgress: SendProgress | undefined
  /** Given for MCP revisions with `resources/subscribe`. */
  readonly subscriptions: Effect.Success<ReturnType<typeof makeResourceSubscriptions>> | undefined
  /** How the client answers questions: directly, or by repeating its request. */
  readonly input: InputResponder | InputRound
  /** True for a client of the modern era that supports tasks; in the legacy era each call says so. */
  readonly supportsTasks: boolean
  /** True for a client that shows apps: others see neither apps nor the tools for them. */
  readonly showsApps: boolean
}

/** Clients of the legacy era answer questions directly. */
const isLegacy = ({ input }: MethodRequest): boolean => "answer" in input

const methodNotFound = (method: string) => jsonRpcError("methodNotFound", `Method not found: ${method}`)

/** Explains to a model why a call has no result, and what to do next. */
const describeFailure = (tool: string, { code, reason, message }: McpSessionError): string => {
  switch (reason) {
    case "closed":
      return `The connection to the tool '${tool}' was lost before it responded: ${message}. The call may or may not have been executed: check before you call it again.`
    case "unavailable":
      return `The tool '${tool}' is unavailable: ${message}. Try again later, or use another tool.`
    case "protocol":
      return `The tool '${tool}' rejected the call: ${message}${code === undefined ? "" : ` (error ${code})`}. Check its name and the arguments against the list of tools.`
    case "unauthorized":
    case "forbidden":
      return `The tool '${tool}' requires authorization (${message}). A person must grant access first; do not call it again.`
    case "unsupported":
      return message
  }
}

/** Wraps structured content for the legacy era as the SDK wraps the schema in the list, unless both are objects. */
const withObjectContent = (result: JsonObject, outputSchema: JsonObject = { type: "object" }): JsonObject => {
  const { structuredContent } = result
  return structuredContent === undefined || (isJsonObject(structuredContent) && outputSchema["type"] === "object")
    ? result
    : { ...result, structuredContent: { result: structuredContent } }
}

const requireString = (params: JsonObject, name: string): Effect.Effect<string, JsonRpcError> => {
  const { [name]: value } = params
  return typeof value === "string"
    ? Effect.succeed(value)
    : Effect.fail(jsonRpcError("invalidParams", `'${name}' must be a string`))
}

/** How long a client may keep a list, in milliseconds: one that does not listen to changes learns of them this late. */
export const listLifetime = 60_000

/** Clients may share no list: all need the token, and some depend on the client. The SDK says so by default. */
const withLifetime = (request: MethodRequest, list: JsonObject): JsonObject =>
  isLegacy(request) ? list : { ...list, ttlMs: listLifetime }

const listPage = Effect.fnUntraced(function* (
  name: "tools" | "resources",
  fetchPage: McpSession["listTools"],
  request: MethodRequest
) {
  const { params, showsApps } = request
  const cursor = params["cursor"] === undefined ? undefined : yield* requireString(params, "cursor")
  const { items, nextCursor } = yield* fetchPage(cursor)
  const isShown = (item: JsonObject) =>
    showsApps || !(name === "tools" ? isAppOnly(asObject(item["_meta"])) : isAppResource(item))
  return withLifetime(request, { [name]: items.filter(isShown), ...definedOnly({ nextCursor }) })
})

/** SEP-2164: clients recognize the error by the URI in its data. */
const toReadError = (uri: string, failure: McpSessionError) =>
  failure.code === jsonRpcCodes.resourceNotFound
    ? new JsonRpcError({ code: failure.code, message: failure.message, data: failure.data ?? { uri } })
    : failure

type MethodHandler = (request: MethodRequest) => Effect.Effect<JsonObject, McpSessionError | JsonRpcError>

/** Makes the calls of tools, which may become tasks. */
const makeCallTool = (
  session: PublishableSession,
  runRound: Effect.Success<typeof makeInputRounds>,
  tasks: PublishedTasks | undefined
) =>
  Effect.fnUntraced(function* (request: MethodRequest) {
    const { input, params, sendProgress, supportsTasks } = request
    const name = yield* requireString(params, "name")
    const { arguments: args = {} } = params
    if (!isJsonObject(args)) return yield* jsonRpcError("invalidParams", "'arguments' must be an object")
    if (isLegacy(request) && isJsonObject(params["task"])) {
      return yield* tasks?.startLegacy(name, args, input.modes) ?? methodNotFound("tools/call with a task")
    }
    const start = (responder: InputResponder | undefined, send: SendProgress | undefined) => {
      const options = definedOnly({ responder })
      return send === undefined
        ? session.callTool(name, args, options)
        : withHeartbeat(send, (onProgress) => session.callTool(name, args, { ...options, onProgress }))
    }
    const call: ReturnType<MethodHandler> = Effect.gen(function* () {
      const result = supportsTasks
        ? yield* tasks?.callModern(name, args, input.modes, sendProgress) ?? Effect.undefined
        : undefined
      if (result !== undefined) return result
      if (input.modes.length === 0) return yield* start(undefined, sendProgress)
      return yield* "answer" in input
        ? start(input, sendProgress)
        : runRound((responder, send) => start(responder, sendProgress && send), input)
    })
    const result = yield* Effect.catchTag(call, "McpSessionError", (failure) =>
      failure.reason === "unsupported"
        ? Effect.fail(failure)
        : Effect.succeed({ content: [{ type: "text", text: describeFailure(name, failure) }], isError: true })
    )
    return isLegacy(request) ? withObjectContent(result, session.outputSchemaOf(name)) : result
  })

const eraOf = (request: MethodRequest) => (isLegacy(request) ? "legacy" : "modern")

/** SEP-2663: a client of the modern era announces the extension with each request. */
const tasksUnannounced = new JsonRpcError({
  code: jsonRpcCodes.missingClientCapability,
  message: `The client does not announce the extension ${tasksExtension}`,
  data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }
})

const ifTasksAnnounced =
  (handle: MethodHandler): MethodHandler =>
  (request) =>
    isLegacy(request) || request.supportsTasks ? handle(request) : Effect.fail(tasksUnannounced)

/** The methods of tasks, in both eras. */
const taskMethods = (published: PublishedTasks): Readonly<Record<string, MethodHandler>> => ({
  "tasks/get": ifTasksAnnounced((request) => published.get(request.params, eraOf(request), request.input.modes)),
  "tasks/cancel": ifTasksAnnounced((request) => published.cancel(request.params, eraOf(request))),
  "tasks/result": ({ input, method, params }) =>
    "answer" in input
      ? Effect.map(published.result(params, input), (result) => withObjectContent(result))
      : methodNotFound(method),
  "tasks/update": ifTasksAnnounced(({ input, method, params }) =>
    "answer" in input ? methodNotFound(method) : published.update(params, input.responses, input.modes)
  )
})

export const makeMethodHandler = (
  session: PublishableSession,
  runRound: Effect.Success<typeof makeInputRounds>,
  tasks: PublishedTasks | undefined
) => {
  const { completions = false, prompts = false, resources, subscribe, tools } = session.info.capabilities

  const updateSubscription = Effect.fnUntraced(function* ({ method, params, subscriptions }: MethodRequest) {
    if (!subscribe || subscriptions === undefined) return yield* methodNotFound(method)
    const uri = yield* requireString(params, "uri")
    yield* method === "resources/subscribe" ? subscriptions.add(uri) : subscriptions.remove(uri)
    return {}
  })

  const forward =
    (method: McpMethod): MethodHandler =>
    ({ params }) =>
      session.request?.(method, params) ?? methodNotFound(method)
  const forwardList =
    (method: McpMethod): MethodHandler =>
    (request) =>
      Effect.map(forward(method)(request), (list) => withLifetime(request, list))

  const handlers: Readonly<Record<string, MethodHandler>> = {
    ...(tools && {
      "tools/list": (request) => listPage("tools", session.listTools, request),
      "tools/call": makeCallTool(session, runRound, tasks)
    }),
    ...(resources && {
      "resources/list": (request) => listPage("resources", session.listResources, request),
      "resources/read": ({ params }) =>
        Effect.flatMap(requireString(params, "uri"), (uri) =>
          Effect.mapBoth(session.readResource(uri), {
            onSuccess: (contents) => ({ contents }),
            onFailure: (failure) => toReadError(uri, failure)
          })
        ),
      // Clients request templates from every server with resources.
      "resources/templates/list":
        session.request === undefined
          ? (request) => Effect.succeed(withLifetime(request, { resourceTemplates: [] }))
          : forwardList("resources/templates/list"),
      "resources/subscribe": updateSubscription,
      "resources/unsubscribe": updateSubscription
    }),
    ...(prompts && { "prompts/list": forwardList("prompts/list"), "prompts/get": forward("prompts/get") }),
    ...(completions && { "completion/complete": forward("completion/complete") }),
    ...(tasks && taskMethods(tasks))
  }
  const methods = new Map(Object.entries(handlers))

  return {
    knows: (method: string): boolean => methods.has(method),
    handle: (request: MethodRequest): Effect.Effect<JsonObject, JsonRpcError> => {
      const handler = methods.get(request.method)
      if (handler === undefined) return Effect.fail(methodNotFound(request.method))
      return Effect.catchTag(handler(request), "McpSessionError", (failure) => Effect.fail(toJsonRpcError(failure)))
    }
  }
}
