import { Effect, Result } from "effect"
import { smallInlineBytes } from "../../../domain/blobs/binaryContent.ts"
import { formatBlobHandle } from "../../../domain/blobs/blobHandle.ts"
import type { OfficeCaller } from "../../../domain/approvals/Caller.ts"
import { asObject, type JsonObject } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { mcpFeature, type McpOutcome } from "../../../domain/model/messages/mcp.ts"
import { mcpToolName } from "../../../domain/model/messages/mcpNames.ts"
import { truncateServerNames } from "../../../domain/model/CallStatus.ts"
import type { CallDefinition } from "../../../domain/wire/ProtocolLine.ts"
import type { Tool } from "../../../domain/model/Tool.ts"
import type { ToolCallRequest } from "../../../domain/model/messages/requests.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import {
  badRequest,
  computerNotFound,
  internalError,
  notFound,
  type ProtocolError,
  payloadTooLarge,
  unknownEvent
} from "../../../domain/model/ProtocolError.ts"
import { explainCallEvent, explanationCodecs, toExplanationView } from "../../../domain/policy/CallExplanation.ts"
import { isAppOnly } from "../../../domain/tools/appTools.ts"
import { toolFailed } from "../../../domain/tools/errorResults.ts"
import { inspectEvent } from "../../../domain/page/Inspection.ts"
import { removeTransformedEvent } from "../../../domain/tools/vrl.ts"
import type { OfficeMember } from "../../member/OfficeMember.ts"
import { type Body, decodeBody, jsonBody } from "../../ports/Body.ts"
import type { MessageHandler } from "../../ports/Transport.ts"
import { withServerSpan } from "../../shared/tracing.ts"
import type { ApprovalRequests } from "./approvalRequests.ts"
import type { Blobs } from "../content/Blobs.ts"
import type { ComputerDesktop } from "../content/Desktop.ts"
import type { Documents } from "../content/Documents.ts"
import { makeMcpRequests } from "../content/McpRequests.ts"
import type { Skills } from "../content/Skills.ts"
import type { Uploads } from "../content/Uploads.ts"
import type { Callers } from "./callers.ts"
import { truncateToFit } from "./truncateToFit.ts"
import type { Inspector } from "./Inspector.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import type { ToolCalls } from "../calls/ToolCalls.ts"

interface ComputerServices {
  readonly name: string
  readonly servers: ServerSupervisor
  readonly calls: ToolCalls
  readonly approvals: ApprovalRequests
  readonly callers: Callers
  readonly desktop: ComputerDesktop
  readonly documents: Documents
  readonly skills: Skills
  readonly blobs: Blobs
  readonly uploads: Uploads
  /** True when operators may learn how calls are decided. */
  readonly isExplained: boolean
  /** Missing where the operators of the Server see nothing. */
  readonly inspector: Inspector | undefined
}

/** The members of a reply beside the result of a task. */
const taskReplyRoom = "x".repeat(4096)

const mcpReplyTooLarge: McpOutcome = {
  failure: { code: jsonRpcCodes.internalError, message: "The result exceeds the message size limit" }
}

/** Serves one request, from its body to the body of its reply. */
type Handler = (body: Body) => Effect.Effect<Body, ProtocolError>

/** Handles the requests and notifications that a Computer receives as a member of an office. */
export const makeComputerRequestHandler = (
  {
    approvals,
    blobs,
    callers,
    calls,
    desktop,
    documents,
    inspector,
    isExplained,
    name,
    servers,
    skills,
    uploads
  }: ComputerServices,
  { fits, line, maxBytes, provesOperators }: OfficeMember
): MessageHandler => {
  const callerOf = (agent: string) => callers.named(agent, provesOperators())
  const errorBody = (error: ProtocolError): Body => jsonBody(line.encodeProtocolError(error))

  /** The body that replaces a reply above the message size limit (case 152). */
  const tooLargeBody = () => errorBody(payloadTooLarge(maxBytes()))

  /** Gives the handler of a call under each of its event names. */
  const handlersFor = <
    Request extends { readonly computer: string; readonly agent: string; readonly reqId: string },
    Reply
  >(
    { aliases, event, reply, request }: CallDefinition<Request, Reply>,
    handle: (request: Request) => Effect.Effect<Reply, ProtocolError>,
    encodeReply: (reply: Reply, request: Request) => Effect.Effect<Body> = (decoded) => {
      const body = jsonBody(reply.encode(decoded))
      return Effect.succeed(fits(body) ? body : tooLargeBody())
    }
  ): ReadonlyArray<readonly [string, Handler]> => {
    const handler: Handler = Effect.fnUntraced(function* (body) {
      const decoded = yield* Effect.fromResult(decodeBody(body, request.decode))
      const { agent, computer, reqId } = decoded
      if (computer !== name) return yield* computerNotFound(computer)
      const attributes = { "a2c.computer": name, "a2c.agent": agent }
      const served = Effect.flatMap(handle(decoded), (replied) => encodeReply(replied, decoded))
      return yield* withServerSpan(event, attributes, reqId, served)
    })
    return [event, ...aliases].map((spelling) => [spelling, handler])
  }

  /** Encodes a result as it is, or else what fits: without the transformed event, then with more data in blobs. */
  const reduceToolResult = Effect.fnUntraced(function* <A>(
    result: ToolResult,
    caller: OfficeCaller,
    encode: (result: ToolResult) => A,
    isFitting: (encoded: A) => boolean
  ): Effect.fn.Return<A> {
    const moveToBlobs = (budgetBytes: number) => (given: ToolResult) => blobs.externalize(given, caller, budgetBytes)
    const reductions = [
      moveToBlobs(line.inlineBytes),
      (given: ToolResult) => Effect.succeed(removeTransformedEvent(given)),
      moveToBlobs(smallInlineBytes),
      moveToBlobs(0)
    ]
    let reduced = result
    for (const reduce of reductions) {
      reduced = yield* reduce(reduced)
      const encoded = encode(reduced)
      if (isFitting(encoded)) return encoded
    }
    return encode(toolFailed("The result exceeds the message size limit"))
  })

  const encodeToolResult = (result: ToolResult, { agent }: ToolCallRequest): Effect.Effect<Body> =>
    reduceToolResult(result, callerOf(agent), (given) => jsonBody(line.calls.toolCall.reply.encode(given)), fits)

  /** Encodes the result of a task for a reply that has more members than it. */
  const encodeTaskResult = (result: ToolResult, caller: OfficeCaller): Effect.Effect<JsonObject> =>
    reduceToolResult(
      result,
      caller,
      (given) => asObject(line.calls.toolCall.reply.encode(given)),
      (encoded) => fits(jsonBody({ encoded, room: taskReplyRoom }))
    )
  const mcp = makeMcpRequests(servers, calls.tasks, callerOf, line, encodeTaskResult)

  const encodeList = <A, Reply>(
    { event, reply }: Pick<CallDefinition<unknown, Reply>, "event" | "reply">,
    items: ReadonlyArray<A>,
    ownerOf: (item: A) => string,
    replyWith: (items: ReadonlyArray<A>) => Reply
  ): Effect.Effect<Body> => {
    const truncated = truncateToFit(items, ownerOf, (some) => jsonBody(reply.encode(replyWith(some))), fits)
    if (truncated === undefined) return Effect.succeed(tooLargeBody())
    const { body, omitted } = truncated
    if (omitted.length === 0) return Effect.succeed(body)
    return Effect.as(Effect.logWarning("reply truncated", { event, omitted }), body)
  }
  const { getDesktop, getSkills, getTools } = line.calls
  const entries = () => servers.snapshot().catalogue.entries
  const serverOf = (tool: Tool): string => entries().get(tool.name)?.server ?? ""
  /** The first line of a rendered window is its URI. */
  const windowUriOf = (rendered: string): string => rendered.split("\n", 1)[0] ?? ""

  /** Encodes the result of an MCP server, or the error of one that is too large. */
  const encodeMcpReply = (reply: McpOutcome & { readonly reqId: string }): Body => {
    const bodyOf = (outcome: McpOutcome) => jsonBody(line.calls.mcp.reply.encode({ ...outcome, reqId: reply.reqId }))
    const body = bodyOf(reply)
    return fits(body) ? body : bodyOf(mcpReplyTooLarge)
  }

  /** Serves a request to MCP servers that came as a tool call, through a Server that does not know its event. */
  const handleMcpCall = Effect.fnUntraced(function* ({ params, timeout, toolName: _, ...target }: ToolCallRequest) {
    const wire = { agent: target.agent, computer: target.computer, req_id: target.reqId, timeout, ...params }
    const request = yield* Effect.mapError(Effect.fromResult(line.calls.mcp.request.decode(wire)), badRequest)
    const { reqId: __, ...outcome } = yield* mcp.handle(request)
    return { content: [], isError: outcome.failure !== undefined, structuredContent: outcome }
  })

  const handlersByCall: { readonly [K in keyof typeof line.calls]: ReadonlyArray<readonly [string, Handler]> } = {
    toolCall: handlersFor(
      line.calls.toolCall,
      (request) =>
        request.toolName === mcpToolName ? handleMcpCall(request) : calls.call(request, callerOf(request.agent)),
      encodeToolResult
    ),
    getTools: handlersFor(
      getTools,
      ({ features, reqId }) =>
        Effect.sync(() => {
          const { restarting, starting } = servers.snapshot()
          const startingServers = truncateServerNames(starting)
          const restartingServers = truncateServerNames(restarting.map(({ config }) => config.name))
          const knowsApps = features?.includes(mcpFeature) === true
          const tools = [...entries().values()].map(({ tool }) => tool)
          return {
            // Other Agents would show the tools of apps to their models.
            tools: knowsApps ? tools : tools.filter(({ meta }) => !isAppOnly(meta)),
            reqId,
            ...(startingServers.length > 0 && { startingServers }),
            ...(restartingServers.length > 0 && { restartingServers }),
            ...(knowsApps && { features: [mcpFeature] })
          }
        }),
      ({ tools, ...reply }) => encodeList(getTools, tools, serverOf, (some) => ({ ...reply, tools: some }))
    ),
    getConfig: handlersFor(line.calls.getConfig, () => Effect.sync(() => servers.setup().config)),
    getDesktop: handlersFor(
      getDesktop,
      ({ desktopSize, reqId, window }) =>
        Effect.map(desktop.show(definedOnly({ size: desktopSize, window })), (desktops) => ({ desktops, reqId })),
      ({ desktops, reqId }) => encodeList(getDesktop, desktops, windowUriOf, (some) => ({ desktops: some, reqId }))
    ),
    getDpe: handlersFor(line.calls.getDpe, documents.getDpe),
    getResources: handlersFor(line.calls.getResources, documents.getResources),
    getFinder: handlersFor(line.calls.getFinder, documents.find),
    getApprovals: handlersFor(line.calls.getApprovals, (request) => approvals.list(request, callerOf(request.agent))),
    decideApproval: handlersFor(line.calls.decideApproval, (request) =>
      approvals.decide(request, callerOf(request.agent))
    ),
    getSkills: handlersFor(
      getSkills,
      ({ reqId }) => Effect.map(skills.list, (listed) => ({ skills: listed, reqId })),
      ({ reqId, skills: listed }) =>
        encodeList(
          getSkills,
          listed,
          ({ source }) => source,
          (some) => ({ skills: some, reqId })
        )
    ),
    getSkill: handlersFor(line.calls.getSkill, ({ name: skill, relPath, reqId }) =>
      Effect.map(skills.read({ name: skill, relPath }), ({ read: _, ...file }) => {
        if (file.body !== undefined) return { ...file, name: skill, reqId }
        const reference = { channel: "skill", computer: name, name: skill, relPath: file.relPath } as const
        return { ...file, name: skill, reqId, blobHandle: formatBlobHandle(reference) }
      })
    ),
    getBlob: handlersFor(line.calls.getBlob, (request) => blobs.getBlob(request, callerOf(request.agent), maxBytes())),
    putBlob:
      line.calls.putBlob === undefined
        ? []
        : handlersFor(line.calls.putBlob, (request) => uploads.putBlob(request, callerOf(request.agent))),
    mcp: handlersFor(line.calls.mcp, mcp.handle, (reply) => Effect.succeed(encodeMcpReply(reply)))
  }
  const explainCall = Effect.fnUntraced(function* (body: Body): Effect.fn.Return<Body, ProtocolError> {
    const request = yield* Effect.fromResult(decodeBody(body, explanationCodecs.request.decode))
    const explanation = yield* calls.explain(request, callers.named(request.subject, true))
    if (explanation === undefined) return yield* notFound(`No tool '${request.tool}' is here`)
    return jsonBody(explanationCodecs.reply.encode(toExplanationView(explanation)))
  })

  const handlers = new Map<string, Handler>(Object.values(handlersByCall).flat())
  for (const [event, handler] of approvals.operatorHandlers) handlers.set(event, (body) => handler(body, fits))
  if (isExplained) handlers.set(explainCallEvent, explainCall)
  if (inspector !== undefined) handlers.set(inspectEvent, (body) => inspector.inspect(body, fits))

  const onNotification = (event: string, body: Body): Effect.Effect<void> => {
    const decoded = decodeBody(body, (wire) => line.decodeNotification(event, wire))
    if (Result.isFailure(decoded)) {
      return Effect.logDebug("message ignored", { event, reason: decoded.failure.message })
    }
    const notification = decoded.success
    if (notification._tag === "Cancelled") {
      return calls.cancel(notification.reqId, callerOf(notification.agent))
    }
    const agentLeft = notification._tag === "Left" && notification.membership.role === "agent"
    if (!agentLeft) return Effect.void
    callers.forgetAgent()
    return Effect.andThen(calls.endAgentCalls, uploads.reset)
  }

  return (event, body) => {
    const handler = handlers.get(event)
    if (handler !== undefined) {
      return handler(body).pipe(
        Effect.catch((error) => Effect.succeed(errorBody(error))),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logError("request failed", { event }, defect), errorBody(internalError("Internal error")))
        ),
        Effect.map((reply) => [reply])
      )
    }
    if (event.startsWith("notify:")) return Effect.as(onNotification(event, body), [])
    return Effect.succeed([errorBody(unknownEvent(event))])
  }
}
