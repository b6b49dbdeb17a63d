import { Effect, Result } from "effect"
import { formatBlobHandle } from "../../../domain/blobs/blobHandle.ts"
import type { OfficeCaller } from "../../../domain/approvals/Caller.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { approvalsFeature, mcpFeature } from "../../../domain/model/messages/mcp.ts"
import { mcpToolName } from "../../../domain/model/messages/mcpNames.ts"
import { truncateServerNames, truncateFailures } from "../../../domain/model/CallStatus.ts"
import {
  badRequest,
  computerNotFound,
  internalError,
  notFound,
  type ProtocolError,
  unknownEvent
} from "../../../domain/model/ProtocolError.ts"
import { toExplanationView } from "../../../domain/policy/CallExplanation.ts"
import { isAppOnly } from "../../../domain/tools/appTools.ts"
import type { CallRequest, ReplyFields, Calls, ToolCallRequest } from "../../../domain/wire/calls.ts"
import type { CallDefinition } from "../../../domain/wire/defineCall.ts"
import type { OfficeMember } from "../../member/OfficeMember.ts"
import { type Body, decodeBody, jsonBody } from "../../ports/Body.ts"
import type { MessageHandler } from "../../ports/Transport.ts"
import { withServerSpan } from "../../shared/tracing.ts"
import { makeMcpRequests } from "../content/McpRequests.ts"
import type { ComputerServices } from "./computerServices.ts"
import { type OperatorHandlers, toBodyHandlers } from "./operatorAccess.ts"
import { makeReplyEncoders } from "./replyEncoders.ts"
import type { RequestId } from "../../../domain/model/ids.ts"

/** Serves one request, from its body to the body of its reply. */
type Handler = (body: Body) => Effect.Effect<Body, ProtocolError>

/** What a Computer does for each row of the table of requests; the dispatch names the request in the reply. */
type CallHandlers = {
  readonly [K in keyof Calls]: (
    request: CallRequest<K>,
    caller: OfficeCaller
  ) => Effect.Effect<ReplyFields<K>, ProtocolError>
}

const makeCallHandlers = (
  { approvals, blobs, calls, desktop, documents, name, servers, skills, uploads }: ComputerServices,
  { line, maxBytes }: OfficeMember,
  mcp: ReturnType<typeof makeMcpRequests>
): CallHandlers => {
  /** Serves a request to MCP servers that came as a tool call, through a Server that does not know its event. */
  const handleMcpCall = Effect.fnUntraced(function* ({ params, timeout, toolName: _, ...target }: ToolCallRequest) {
    const wire = { agent: target.agent, computer: target.computer, req_id: target.reqId, timeout, ...params }
    const request = yield* Effect.mapError(Effect.fromResult(line.calls.mcp.request.decode(wire)), badRequest)
    const { reqId: __, ...outcome } = yield* mcp(request)
    return { content: [], isError: outcome.failure !== undefined, structuredContent: outcome }
  })

  return {
    toolCall: (request, caller) =>
      request.toolName === mcpToolName ? handleMcpCall(request) : calls.call(request, caller),
    getTools: ({ features }) =>
      Effect.sync(() => {
        const { catalogue, failing, restarting, starting } = servers.snapshot()
        const startingServers = truncateServerNames(starting)
        const restartingServers = truncateServerNames(restarting.map(({ config }) => config.name))
        const knowsApps = features?.includes(mcpFeature) === true
        const tools = [...catalogue.entries.values()].map(({ tool }) => tool)
        return {
          // Other Agents would show the tools of apps to their models.
          tools: knowsApps ? tools : tools.filter(({ meta }) => !isAppOnly(meta)),
          ...(startingServers.length > 0 && { startingServers }),
          ...(restartingServers.length > 0 && { restartingServers }),
          ...(failing.length > 0 && { failingServers: truncateFailures(failing) }),
          ...(knowsApps && { features: [mcpFeature, ...(approvals.agentsDecide ? [approvalsFeature] : [])] })
        }
      }),
    getConfig: () => Effect.sync(() => servers.setup().config),
    getDesktop: ({ size, window }) =>
      Effect.map(desktop.show(definedOnly({ size, window })), (desktops) => ({ desktops })),
    getDpe: documents.getDpe,
    getResources: documents.getResources,
    findDocuments: documents.find,
    getApprovals: approvals.list,
    decideApproval: approvals.decide,
    skills: () => Effect.map(skills.list, (listed) => ({ skills: listed })),
    getSkill: ({ name: skill, relPath }) =>
      Effect.map(skills.read(skill, relPath), ({ read: _, ...file }) => {
        if (file.body !== undefined) return { ...file, name: skill }
        const reference = { channel: "skill", computer: name, name: skill, relPath: file.relPath } as const
        return { ...file, name: skill, blobHandle: formatBlobHandle(reference) }
      }),
    getBlob: (request, caller) => blobs.getBlob(request, caller, maxBytes()),
    putBlob: uploads.putBlob,
    mcp
  }
}

/** A row, its handler and its encoder without the types of its messages. */
type AnyRow = CallDefinition<CallRequest<keyof Calls>, object>
type AnyHandler = (request: object, caller: OfficeCaller) => Effect.Effect<object, ProtocolError>
type AnyEncoder = ((result: object, caller: OfficeCaller, reqId: RequestId) => Effect.Effect<Body>) | undefined

/** Handles the requests and notifications that a Computer receives as a member of an office. */
export const makeComputerRequestHandler = (services: ComputerServices, member: OfficeMember): MessageHandler => {
  const { approvals, callers, calls, inspector, isExplained, name, servers, uploads } = services
  const { fits, line, provesOperators } = member
  const callerOf = (agent: string) => callers.named(agent, provesOperators())
  const errorBody = (error: ProtocolError): Body => jsonBody(line.encodeProtocolError(error))
  const { encodeTaskResult, encodeWhole, encoders } = makeReplyEncoders(member, services)
  const mcp = makeMcpRequests(servers, calls.tasks, callerOf, line, encodeTaskResult)
  const callHandlers = makeCallHandlers(services, member, mcp)

  const serve = (key: keyof Calls, row: AnyRow): Handler => {
    // The handler and the encoder of a row take the messages of this row.
    const handle = callHandlers[key] as AnyHandler
    const encodeReply = encoders[key] as AnyEncoder
    return Effect.fnUntraced(function* (body) {
      const request = yield* Effect.fromResult(decodeBody(body, row.request.decode))
      const { agent, computer, reqId } = request
      if (computer !== name) return yield* computerNotFound(computer)
      const caller = callerOf(agent)
      const served = Effect.flatMap(handle(request, caller), (result) =>
        encodeReply === undefined ? encodeWhole(row, { ...result, reqId }) : encodeReply(result, caller, reqId)
      )
      return yield* withServerSpan(row.event, { "a2c.computer": name, "a2c.agent": agent }, reqId, served)
    })
  }

  const explainCall: OperatorHandlers["explainCall"] = Effect.fnUntraced(function* (request) {
    const explanation = yield* calls.explain(request, callers.named(request.subject, true))
    if (explanation === undefined) return yield* notFound(`No tool '${request.tool}' is here`)
    return [toExplanationView(explanation)]
  })

  const handlers = new Map<string, Handler>()
  for (const [key, row] of Object.entries(line.calls)) {
    if (row === undefined) continue
    const handler = serve(key as keyof Calls, row as unknown as AnyRow)
    for (const event of [row.event, ...row.aliases]) handlers.set(event, handler)
  }
  const operatorHandlers = { ...approvals.operatorHandlers, ...inspector, ...(isExplained && { explainCall }) }
  for (const [event, handler] of toBodyHandlers(operatorHandlers, fits)) handlers.set(event, handler)

  const onNotification = (event: string, body: Body): Effect.Effect<void> => {
    const decoded = decodeBody(body, (wire) => line.decodeNotification(event, wire))
    if (Result.isFailure(decoded)) {
      return Effect.logDebug("message ignored", { event, reason: decoded.failure.message })
    }
    const notification = decoded.success
    if (notification._tag === "Cancelled") {
      return calls.cancel(notification.reqId, callerOf(notification.agent))
    }
    if (notification._tag !== "Left" || notification.membership.role !== "agent") return Effect.void
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
