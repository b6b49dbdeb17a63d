import { Duration, Effect, type Result, Schema } from "effect"
import type { OfficeCaller } from "../../../domain/approvals/Caller.ts"
import type { TaskState } from "../../../domain/calls/tasksState.ts"
import { asObject, asString, isJsonObject, type JsonObject, toSafeJson } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { defaultMcpTimeoutSeconds, type McpOutcome, type McpServerInfo } from "../../../domain/model/messages/mcp.ts"
import { TaskQuery, TaskStart, TaskView } from "../../../domain/model/messages/tasks.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { isAppResource } from "../../../domain/tools/appTools.ts"
import { plainResourcesHash } from "../../../domain/tools/listings/plainResources.ts"
import { withoutReservedParts } from "../../../domain/tools/results/repairResult.ts"
import type { Catalogue } from "../../../domain/tools/catalogue.ts"
import { reservedKeysOf, withoutReservedMeta } from "../../../domain/tools/listings/mcpListings.ts"
import { makeDecoder } from "../../../domain/validation.ts"
import type { CallRequest } from "../../../domain/wire/calls.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import type { CallTasks } from "../calls/CallTasks.ts"
import { McpSessionError, protocolFailure } from "../../ports/McpSession.ts"
import type { OfferedServer } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import type { RequestId } from "../../../domain/model/ids.ts"

type McpResult = Effect.Effect<JsonObject, McpSessionError>

const invalidParams = (message: string) => protocolFailure(jsonRpcCodes.invalidParams, message)

/** The members of a listed tool that the office's list of tools carries. */
const listedMembers: ReadonlyArray<string> = ["name", "description", "inputSchema", "outputSchema", "annotations"]

const detailsOf = (listed: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(listed).filter(([member]) => !listedMembers.includes(member)))

const describeServer = (
  id: string,
  { config, prompts, resources, session, templates, tools }: OfferedServer,
  catalogue: Catalogue
): McpServerInfo => {
  const { capabilities, implementation, instructions, name, version } = session.info
  const byOriginalName = new Map(tools.map((listed) => [listed["name"], listed]))
  const shown = [...catalogue.entries.values()].filter(({ server }) => server === config.name)
  return {
    id,
    implementation: implementation ?? { name, version },
    ...definedOnly({ instructions, resourcesHash: plainResourcesHash(resources) || undefined }),
    tools: shown.map(({ originalName, tool }) => ({
      name: tool.name,
      ...(originalName !== tool.name && { originalName }),
      details: detailsOf(byOriginalName.get(originalName) ?? {})
    })),
    prompts,
    templates,
    apps: resources.filter(isAppResource),
    completions: capabilities.completions === true
  }
}

const toFailure = ({ code = jsonRpcCodes.internalError, data, message }: McpSessionError) => ({
  code,
  message,
  ...definedOnly({ data })
})

const decodeStart = makeDecoder(TaskStart)
const decodeQuery = makeDecoder(TaskQuery)
const encodeView = Schema.encodeSync(TaskView)

const rejectUnknown = Effect.fnUntraced(function* (servers: ServerSupervisor, id: string) {
  yield* Effect.mapError(
    servers.rejectServerWhileRestarting(id),
    ({ extra, message }) => new McpSessionError({ reason: "unavailable", message, ...definedOnly({ data: extra }) })
  )
  return yield* invalidParams(`No MCP server '${id}' runs here`)
})

/** Sends a request to a server and gives its result, without reserved members. */
const forward = ({ session }: OfferedServer, { method, params }: CallRequest<"mcp">): McpResult => {
  if (method === "resources/read") {
    const uri = asString(params["uri"])
    if (uri === undefined) return Effect.fail(invalidParams("'uri' must be a string"))
    const isKept = reservedKeysOf(session.info.name)
    return Effect.map(session.readResource(uri), (contents) => ({
      contents: contents.map((content: unknown) =>
        isJsonObject(content) ? withoutReservedMeta(content, isKept) : content
      )
    }))
  }
  const isForwarded = method === "prompts/get" || method === "completion/complete"
  if (!isForwarded || session.request === undefined) {
    return Effect.fail(protocolFailure(jsonRpcCodes.methodNotFound, `Method not found: ${method}`))
  }
  return Effect.map(session.request(method, params), withoutReservedParts)
}

/** Serves the requests of Agents to the MCP servers of a Computer, beyond tools, windows and documents. */
export const makeMcpRequests = (
  servers: ServerSupervisor,
  tasks: CallTasks,
  callerOf: (agent: string) => OfficeCaller,
  { encodeCallStatus }: ProtocolLine,
  /** Encodes the result of a task as that of a call, so that the reply fits into a message. */
  encodeResult: (result: ToolResult, caller: OfficeCaller) => Effect.Effect<JsonObject>
) => {
  const { findById, identify, snapshot } = servers
  const list = Effect.sync(() => {
    const { catalogue, running } = snapshot()
    return { servers: running.map((server) => describeServer(identify(server.config.name), server, catalogue)) }
  })

  /** Makes a method that shows a task to its caller. */
  const taskMethod = <A>(
    decode: (params: JsonObject) => Result.Result<A, string>,
    run: (caller: OfficeCaller, params: A) => Effect.Effect<TaskState, ProtocolError>
  ) =>
    Effect.fnUntraced(function* ({ agent, params }: CallRequest<"mcp">) {
      const caller = callerOf(agent)
      const decoded = yield* Effect.mapError(Effect.fromResult(decode(params)), invalidParams)
      const { result, status, ...shown } = yield* Effect.mapError(run(caller, decoded), ({ message }) =>
        invalidParams(message)
      )
      const report = status && asObject(encodeCallStatus({ reqId: String(params["id"]), status }))
      const encoded = result && (yield* encodeResult(result, caller))
      return encodeView({ ...shown, ...definedOnly({ report, result: encoded }) })
    })

  const ownMethods: { readonly [method: string]: (request: CallRequest<"mcp">) => McpResult } = {
    "servers/list": () => list,
    "tasks/start": taskMethod(decodeStart, (caller, task) => tasks.start({ ...task, caller })),
    "tasks/get": taskMethod(decodeQuery, tasks.get),
    "tasks/cancel": taskMethod(decodeQuery, (caller, { id }) => tasks.cancel(caller, id))
  }

  const send = (request: CallRequest<"mcp">): McpResult => {
    const { method, server: id } = request
    if (Object.hasOwn(ownMethods, method)) return ownMethods[method]?.(request) ?? Effect.succeed({})
    const server = id === undefined ? undefined : findById(id)
    return server === undefined ? rejectUnknown(servers, String(id)) : forward(server, request)
  }

  /** Gives the result of a request, or its error. */
  return (request: CallRequest<"mcp">): Effect.Effect<McpOutcome & { readonly reqId: RequestId }> => {
    const { reqId, timeout = defaultMcpTimeoutSeconds } = request
    const timedOut = protocolFailure(jsonRpcCodes.internalError, `no response within ${timeout} seconds`)
    return send(request).pipe(
      Effect.timeoutOrElse({ duration: Duration.seconds(timeout), orElse: () => Effect.fail(timedOut) }),
      Effect.match({
        onSuccess: (result) => ({ reqId, result: toSafeJson(result) }),
        onFailure: (error) => ({ reqId, failure: toFailure(error) })
      })
    )
  }
}
