import { Result, Schema } from "effect"
import { type Codec, codec } from "../../explain.ts"
import type { Part } from "../../office/notice.ts"
import { isJsonObject } from "../../json.ts"
import * as C from "./calls.ts"
import { ComputerConfig } from "./config.ts"
import { mostIdentifierLength, mostTimeoutSeconds } from "./fields.ts"
import * as O from "./office.ts"
import { ToolResult } from "./tools.ts"

/** What the Server needs of a request to a Computer; the rest of the body is none of its business. */
interface Routing {
  readonly computer: string
  readonly reqId: string
  /** How long the Computer may take by the request's own word, in seconds. */
  readonly seconds: number | undefined
}

/** The Server's side of a request to a Computer: where it goes, how long it may take, can it be cancelled. */
export interface RoutedRow {
  readonly kind: "call"
  readonly constant: string
  readonly event: string
  /** Names by which other texts of the protocol know the same event. */
  readonly aliases: ReadonlyArray<string>
  readonly from: "agent"
  readonly routing: (head: unknown) => Result.Result<Routing, string>
  /** May the Agent cancel it by its request id? */
  readonly cancellable: boolean
}

/** A request of the Agent to a Computer, with what its two ends need. */
export interface CallRow<Request, Reply> extends RoutedRow {
  readonly request: Codec<Request>
  readonly reply: Codec<Reply>
}

type Addressed = { readonly agent: string; readonly reqId: string; readonly computer: string }

const call = <Request extends Addressed, RequestWire, Reply, ReplyWire>(row: {
  readonly constant: string
  readonly event: string
  readonly aliases?: ReadonlyArray<string>
  readonly request: Schema.Codec<Request, RequestWire>
  readonly reply: Schema.Codec<Reply, ReplyWire>
  readonly seconds?: (request: Request) => number
  /** The routing of a request that the schema would take; `undefined` leaves it to the schema. */
  readonly quick?: (head: unknown) => Routing | undefined
  readonly cancellable?: boolean
}): CallRow<Request, Reply> => {
  const request = codec(row.request)
  return {
    kind: "call",
    constant: row.constant,
    event: row.event,
    aliases: row.aliases ?? [],
    from: "agent",
    request,
    reply: codec(row.reply),
    routing: (head) => {
      const quick = row.quick?.(head)
      if (quick !== undefined) return Result.succeed(quick)
      return Result.map(request.decode(head), (decoded) => ({
        computer: decoded.computer,
        reqId: decoded.reqId,
        seconds: row.seconds?.(decoded)
      }))
    },
    cancellable: row.cancellable ?? false
  }
}

/** How long a Computer may take to resolve a document when the request does not say, in seconds. */
const dpeSeconds = 60

const isIdentifier = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= mostIdentifierLength

/**
 * What {@link C.ToolCallReq} says, without a schema: every call of every tool comes by here, and the schema takes
 * longer than all the rest of the routing. Whatever it does not know for good is left to the schema.
 */
const quickToolCall = (head: unknown): Routing | undefined => {
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
    timeout <= mostTimeoutSeconds
    ? { computer, reqId, seconds: timeout }
    : undefined
}

/** Requests to a Computer (spec §5.1). The Server routes them; Agent and Computer take their codecs from here. */
export const calls = {
  toolCall: call({
    constant: "TOOL_CALL_EVENT",
    event: "client:tool_call",
    request: C.ToolCallReq,
    reply: ToolResult,
    seconds: ({ timeout }) => timeout,
    quick: quickToolCall,
    cancellable: true
  }),
  getTools: call({
    constant: "GET_TOOLS_EVENT",
    event: "client:get_tools",
    request: C.PlainReq,
    reply: C.GetToolsRet
  }),
  getConfig: call({
    constant: "GET_CONFIG_EVENT",
    event: "client:get_config",
    request: C.PlainReq,
    reply: ComputerConfig
  }),
  getDesktop: call({
    constant: "GET_DESKTOP_EVENT",
    event: "client:get_desktop",
    request: C.GetDesktopReq,
    reply: C.GetDesktopRet
  }),
  getDpe: call({
    constant: "GET_DPE_EVENT",
    event: "client:get_dpe",
    request: C.GetDpeReq,
    reply: C.GetDpeRet,
    seconds: ({ timeout }) => timeout ?? dpeSeconds
  }),
  getResources: call({
    constant: "GET_RESOURCES_EVENT",
    event: "client:get_resources",
    request: C.GetResourcesReq,
    reply: C.GetResourcesRet
  }),
  getFinder: call({
    constant: "GET_FINDER_EVENT",
    event: "client:get_finder",
    aliases: ["client:list_finder"],
    request: C.GetFinderReq,
    reply: C.GetFinderRet
  })
}

/** How `client:*` events of newer peers are routed: by the Computer they name, nothing else is known (spec §4.1). */
const unknownCall: RoutedRow = call({
  constant: "",
  event: "client:*",
  request: C.PlainReq,
  reply: Schema.Unknown
})

/** Requests that the Server answers itself (spec §5.2). */
export const offices = {
  join: {
    kind: "join",
    constant: "JOIN_OFFICE_EVENT",
    event: "server:join_office",
    from: "member",
    request: codec(O.EnterOfficeReq)
  },
  leave: {
    kind: "leave",
    constant: "LEAVE_OFFICE_EVENT",
    event: "server:leave_office",
    from: "member",
    request: codec(O.LeaveOfficeReq)
  },
  list: {
    kind: "list",
    constant: "LIST_ROOM_EVENT",
    event: "server:list_room",
    from: "agent",
    request: codec(O.ListRoomReq),
    reply: codec(O.ListRoomRet)
  }
} as const

/** A Computer's word that a part of it changed; the Server passes it on to the office. */
export interface ReportRow {
  readonly kind: "report"
  readonly constant: string
  readonly event: string
  readonly from: "computer"
  readonly part: Part
  readonly request: Codec<typeof O.ComputerRef.Type>
}

const report = (part: Part, constant: string, event: string): ReportRow => ({
  kind: "report",
  constant,
  event,
  from: "computer",
  part,
  request: codec(O.ComputerRef)
})

/** Reports without an answer (spec §5.2); each becomes the notification of the same part. */
export const reports: { readonly [P in Part]: ReportRow } = {
  config: report("config", "UPDATE_CONFIG_EVENT", "server:update_config"),
  toolList: report("toolList", "UPDATE_TOOL_LIST_EVENT", "server:update_tool_list"),
  desktop: report("desktop", "UPDATE_DESKTOP_EVENT", "server:update_desktop"),
  finder: report("finder", "UPDATE_FINDER_EVENT", "server:update_finder")
}

/** The Agent gives up a call (spec §6.3). */
export const cancel = {
  kind: "cancel",
  constant: "CANCEL_TOOL_CALL_EVENT",
  event: "server:tool_call_cancel",
  from: "agent",
  request: codec(O.AgentCallData)
} as const

/** What a member may send to the Server. */
export type ServerRow = RoutedRow | (typeof offices)[keyof typeof offices] | ReportRow | typeof cancel

const serverRows: ReadonlyMap<string, ServerRow> = new Map(
  [...Object.values(calls), ...Object.values(offices), ...Object.values(reports), cancel].flatMap(
    (row: ServerRow) =>
      [row.event, ...("aliases" in row ? row.aliases : [])].map((name) => [name, row] as const)
  )
)

/**
 * The row of an event that a member sends, or `undefined` for one nobody may send. Unknown `client:*` events are
 * routed like their kin: peers of the same line may know newer ones.
 */
export const serverRow = (event: string): ServerRow | undefined =>
  serverRows.get(event) ?? (event.startsWith("client:") ? unknownCall : undefined)
