import { Result, Schema } from "effect"
import { type Codec, makeCodec } from "../../validation.ts"
import type { ComputerPart } from "../../model/Notification.ts"
import { isJsonObject } from "../../json.ts"
import { ComputerConfig } from "../../config/computerConfig.ts"
import { defaultDpeTimeoutSeconds, maxIdentifierLength, maxTimeoutSeconds } from "../../model/fields.ts"
import { callStatus } from "./callStatus.ts"
import * as Messages from "./messages.ts"
import { ToolResult } from "../../model/ToolResult.ts"

interface RoutingInfo {
  /** The name of the sender, as the request states it. */
  readonly agent: string
  readonly computer: string
  readonly reqId: string
  readonly timeoutSeconds: number | undefined
}

/** The Server's side of a request to a Computer: its target, its timeout, and whether it can be cancelled. */
export interface RoutedDefinition {
  readonly kind: "call"
  readonly event: string
  /** Other spellings of the event in the protocol's documents. */
  readonly aliases: ReadonlyArray<string>
  readonly from: "agent"
  readonly decodeRouting: (head: unknown) => Result.Result<RoutingInfo, string>
  /** True when the Agent can cancel it by its request id. */
  readonly cancellable: boolean
}

export interface CallDefinition<Request, Reply> extends RoutedDefinition {
  readonly request: Codec<Request>
  readonly reply: Codec<Reply>
}

const defineCall = <Request extends typeof Messages.TargetReq.Type, RequestWire, Reply, ReplyWire>(definition: {
  readonly event: string
  readonly aliases?: ReadonlyArray<string>
  readonly request: Schema.Codec<Request, RequestWire>
  readonly reply: Schema.Codec<Reply, ReplyWire>
  readonly timeoutSeconds?: (request: Request) => number
  /** Decodes the routing of valid requests without the schema; `undefined` falls back to the schema. */
  readonly decodeRoutingFast?: (head: unknown) => RoutingInfo | undefined
  readonly cancellable?: boolean
}): CallDefinition<Request, Reply> => {
  const request = makeCodec(definition.request)
  return {
    kind: "call",
    event: definition.event,
    aliases: definition.aliases ?? [],
    from: "agent",
    request,
    reply: makeCodec(definition.reply),
    decodeRouting: (head) => {
      const fast = definition.decodeRoutingFast?.(head)
      if (fast !== undefined) return Result.succeed(fast)
      return Result.map(request.decode(head), (decoded) => ({
        agent: decoded.agent,
        computer: decoded.computer,
        reqId: decoded.reqId,
        timeoutSeconds: definition.timeoutSeconds?.(decoded)
      }))
    },
    cancellable: definition.cancellable ?? false
  }
}

const isIdentifier = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= maxIdentifierLength

/** Avoids the schema, which takes longer than the rest of the routing; `undefined` unless certainly valid. */
const decodeToolCallRoutingFast = (head: unknown): RoutingInfo | undefined => {
  if (!isJsonObject(head)) return undefined
  const { agent, computer, params, req_id: reqId, timeout, tool_name: tool } = head
  return isIdentifier(agent) &&
    isIdentifier(reqId) &&
    isIdentifier(computer) &&
    isIdentifier(tool) &&
    isJsonObject(params) &&
    typeof timeout === "number" &&
    Number.isInteger(timeout) &&
    timeout >= 1 &&
    timeout <= maxTimeoutSeconds
    ? { agent, computer, reqId, timeoutSeconds: timeout }
    : undefined
}

/** Requests to a Computer, routed by the Server (spec §5.1). */
export const calls = {
  toolCall: defineCall({
    event: "client:tool_call",
    request: Messages.ToolCallReq,
    reply: ToolResult,
    timeoutSeconds: ({ timeout }) => timeout,
    decodeRoutingFast: decodeToolCallRoutingFast,
    cancellable: true
  }),
  getTools: defineCall({ event: "client:get_tools", request: Messages.TargetReq, reply: Messages.GetToolsRet }),
  getConfig: defineCall({ event: "client:get_config", request: Messages.TargetReq, reply: ComputerConfig }),
  getDesktop: defineCall({
    event: "client:get_desktop",
    request: Messages.GetDesktopReq,
    reply: Messages.GetDesktopRet
  }),
  getDpe: defineCall({
    event: "client:get_dpe",
    request: Messages.GetDpeReq,
    reply: Messages.GetDpeRet,
    timeoutSeconds: ({ timeout }) => timeout ?? defaultDpeTimeoutSeconds
  }),
  getResources: defineCall({
    event: "client:get_resources",
    request: Messages.GetResourcesReq,
    reply: Messages.GetResourcesRet
  }),
  getFinder: defineCall({
    event: "client:get_finder",
    aliases: ["client:list_finder"],
    request: Messages.GetFinderReq,
    reply: Messages.GetFinderRet
  })
}

/** Routes `client:*` events of newer peers by their Computer (spec §4.1). */
const fallbackCall: RoutedDefinition = defineCall({
  event: "client:*",
  request: Messages.TargetReq,
  reply: Schema.Unknown
})

/** Requests that the Server handles itself (spec §5.2). */
export const serverRequests = {
  join: { kind: "join", event: "server:join_office", from: "member", request: makeCodec(Messages.EnterOfficeReq) },
  leave: { kind: "leave", event: "server:leave_office", from: "member", request: makeCodec(Messages.LeaveOfficeReq) },
  list: {
    kind: "list",
    event: "server:list_room",
    from: "agent",
    request: makeCodec(Messages.ListRoomReq),
    reply: makeCodec(Messages.ListRoomRet)
  }
} as const

const defineUpdate = (part: ComputerPart, event: string) =>
  ({ kind: "update", event, from: "computer", part, request: makeCodec(Messages.ComputerRef) }) as const

/** A Computer's update of one of its parts; the Server notifies the office. */
export type UpdateDefinition = ReturnType<typeof defineUpdate>

/** Updates without a reply (spec §5.2). Each becomes the notification of the same part. */
export const updates: { readonly [P in ComputerPart]: UpdateDefinition } = {
  config: defineUpdate("config", "server:update_config"),
  toolList: defineUpdate("toolList", "server:update_tool_list"),
  desktop: defineUpdate("desktop", "server:update_desktop"),
  finder: defineUpdate("finder", "server:update_finder")
}

/** The Agent's cancellation of a call (spec §6.3). */
export const cancel = {
  kind: "cancel",
  event: "server:tool_call_cancel",
  from: "agent",
  request: makeCodec(Messages.AgentCallData)
} as const

export type EventDefinition =
  | RoutedDefinition
  | (typeof serverRequests)[keyof typeof serverRequests]
  | UpdateDefinition
  | typeof cancel
  | typeof callStatus

const definitionsByEvent: ReadonlyMap<string, EventDefinition> = new Map(
  [...Object.values(calls), ...Object.values(serverRequests), ...Object.values(updates), cancel, callStatus].flatMap(
    (definition: EventDefinition) =>
      [definition.event, ...("aliases" in definition ? definition.aliases : [])].map(
        (name) => [name, definition] as const
      )
  )
)

/** Unknown `client:*` events of a member are routed: peers of the same line may know newer ones. */
export const findEventDefinition = (event: string): EventDefinition | undefined =>
  definitionsByEvent.get(event) ?? (event.startsWith("client:") ? fallbackCall : undefined)
