import { Effect, Result } from "effect"
import type { CallDefinition, ProtocolLine } from "../../../domain/wire/lines.ts"
import type { Tool } from "../../../domain/model/Tool.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import {
  computerNotFound,
  internalError,
  type ProtocolError,
  payloadTooLarge,
  unknownEvent
} from "../../../domain/model/ProtocolError.ts"
import { toolFailed } from "../../../domain/tools/errorResults.ts"
import { removeTransformedEvent } from "../../../domain/tools/vrl.ts"
import type { OfficeMember } from "../../member/OfficeMember.ts"
import { type Body, decodeBody, jsonBody } from "../../ports/Body.ts"
import type { MessageHandler } from "../../ports/Transport.ts"
import { withServerSpan } from "../../shared/tracing.ts"
import type { Desktop } from "../content/Desktop.ts"
import type { Documents } from "../content/Documents.ts"
import { truncateToFit } from "./truncateToFit.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import type { ToolCalls } from "../calls/ToolCalls.ts"

/** The parts of a Computer that answer for it. */
export interface ComputerServices {
  readonly name: string
  readonly servers: ServerSupervisor
  readonly calls: ToolCalls
  readonly desktop: Desktop
  readonly documents: Documents
}

type Calls = ProtocolLine["calls"]

/** The answer to one request, from its body to the body that goes back. */
type Handle = (body: Body) => Effect.Effect<Body, ProtocolError>

/** What a member of an office does with the requests and notices that come to a Computer. */
export const makeRequestHandler = (
  { calls, desktop, documents, name, servers }: ComputerServices,
  { fits, line, maxBytes }: OfficeMember
): MessageHandler => {
  const errorBody = (error: ProtocolError): Body => jsonBody(line.encodeProtocolError(error))

  /** An answer, or what is said instead of one that the connection cannot carry (case 152). */
  const limitSize = (body: Body): Body => (fits(body) ? body : errorBody(payloadTooLarge(maxBytes())))

  /** A row of the table with its handler: how the event is served, under each of its names. */
  const handlersFor = <
    Request extends { readonly computer: string; readonly agent: string; readonly reqId: string },
    Reply
  >(
    { aliases, event, reply, request }: CallDefinition<Request, Reply>,
    handle: (request: Request) => Effect.Effect<Reply, ProtocolError>,
    encodeReply: (reply: Reply) => Effect.Effect<Body> = (decoded) =>
      Effect.succeed(limitSize(jsonBody(reply.encode(decoded))))
  ): ReadonlyArray<readonly [string, Handle]> => {
    const handler: Handle = (body) =>
      Effect.fromResult(decodeBody(body, request.decode)).pipe(
        Effect.filterOrFail(
          ({ computer }) => computer === name,
          ({ computer }) => computerNotFound(computer)
        ),
        Effect.flatMap((decoded) =>
          withServerSpan(
            event,
            { "a2c.computer": name, "a2c.agent": decoded.agent },
            decoded.reqId,
            Effect.flatMap(handle(decoded), encodeReply)
          )
        )
      )
    return [event, ...aliases].map((spelling) => [spelling, handler])
  }

  /** A tool's result, as much of it as the connection can carry. */
  const encodeToolResult = (result: ToolResult): Effect.Effect<Body> => {
    const bodyWith = (given: ToolResult) => jsonBody(line.calls.toolCall.reply.encode(given))
    const whole = bodyWith(result)
    if (fits(whole)) return Effect.succeed(whole)
    const untransformed = bodyWith(removeTransformedEvent(result))
    return Effect.succeed(
      fits(untransformed) ? untransformed : bodyWith(toolFailed("The result exceeds the message size limit"))
    )
  }

  /** A list that is the answer, as much of it as the connection can carry. */
  const encodeList = <A>(
    event: string,
    items: ReadonlyArray<A>,
    ownerOf: (item: A) => string,
    encode: (items: ReadonlyArray<A>) => unknown
  ): Effect.Effect<Body> => {
    const truncated = truncateToFit(items, ownerOf, (some) => jsonBody(encode(some)), fits)
    if (truncated === undefined) return Effect.succeed(errorBody(payloadTooLarge(maxBytes())))
    const { body, omitted } = truncated
    if (omitted.length === 0) return Effect.succeed(body)
    return Effect.as(Effect.logWarning("reply truncated", { event, omitted }), body)
  }
  const { getDesktop, getTools } = line.calls
  const serverOf = (tool: Tool): string => servers.snapshot().catalogue.entries.get(tool.name)?.server ?? ""
  /** The first line of what is shown of a window is its URI. */
  const windowUriOf = (shown: string): string => shown.split("\n", 1)[0] ?? ""

  const handlersByCall: { readonly [K in keyof Calls]: ReadonlyArray<readonly [string, Handle]> } = {
    toolCall: handlersFor(line.calls.toolCall, calls.call, encodeToolResult),
    getTools: handlersFor(
      getTools,
      ({ reqId }) =>
        Effect.sync(() => ({
          tools: [...servers.snapshot().catalogue.entries.values()].map(({ tool }) => tool),
          reqId
        })),
      ({ reqId, tools }) =>
        encodeList(getTools.event, tools, serverOf, (some) => getTools.reply.encode({ tools: [...some], reqId }))
    ),
    getConfig: handlersFor(line.calls.getConfig, () => Effect.sync(() => servers.setup().config)),
    getDesktop: handlersFor(
      getDesktop,
      ({ desktopSize, reqId, window }) =>
        Effect.map(
          desktop.show({
            ...(desktopSize !== undefined && { size: desktopSize }),
            ...(window !== undefined && { window })
          }),
          (desktops) => ({ desktops, reqId })
        ),
      ({ desktops, reqId }) =>
        encodeList(getDesktop.event, desktops, windowUriOf, (some) =>
          getDesktop.reply.encode({ desktops: [...some], reqId })
        )
    ),
    getDpe: handlersFor(line.calls.getDpe, documents.getDpe),
    getResources: handlersFor(line.calls.getResources, documents.getResources),
    getFinder: handlersFor(line.calls.getFinder, (request) =>
      Effect.map(documents.find(request), (page) => ({ ...page, reqId: request.reqId }))
    )
  }
  const handlers = new Map(Object.values(handlersByCall).flat())

  const onNotification = (event: string, body: Body): Effect.Effect<void> => {
    const decoded = decodeBody(body, (wire) => line.decodeNotification(event, wire))
    if (Result.isFailure(decoded)) {
      return Effect.logDebug("message ignored", { event, reason: decoded.failure.message })
    }
    const notification = decoded.success
    if (notification._tag === "Cancelled") return calls.cancel(notification.reqId)
    const agentLeft = notification._tag === "Left" && notification.membership.role === "agent"
    return agentLeft ? calls.reset : Effect.void
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
