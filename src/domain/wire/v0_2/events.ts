import { Schema } from "effect"
import { isJsonObject } from "../../json.ts"
import type { ComputerPart } from "../../model/Notification.ts"
import { defaultDpeTimeoutSeconds, maxIdentifierLength, maxTimeoutSeconds } from "../../model/fields.ts"
import { defaultMcpTimeoutSeconds } from "../../model/messages/mcp.ts"
import { ToolResult } from "../../model/ToolResult.ts"
import { makeCodec, makeListCodec } from "../../validation.ts"
import { defineCall } from "../defineCall.ts"
import type {
  CancelDefinition,
  Calls,
  RoutedDefinition,
  RoutingInfo,
  ServerRequests,
  UpdateDefinition
} from "../ProtocolLine.ts"
import { computerConfigCodec } from "./computerConfig.ts"
import * as Messages from "./messages.ts"

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
    request: makeCodec(Messages.ToolCallReq),
    reply: makeCodec(ToolResult),
    timeoutSeconds: ({ timeout }) => timeout,
    decodeRoutingFast: decodeToolCallRoutingFast,
    cancellable: true
  }),
  getTools: defineCall({
    event: "client:get_tools",
    request: makeCodec(Messages.GetToolsReq),
    reply: makeListCodec(Messages.GetToolsRet, "tools", Messages.repairWireTool)
  }),
  getConfig: defineCall({
    event: "client:get_config",
    request: makeCodec(Messages.TargetReq),
    reply: computerConfigCodec
  }),
  getDesktop: defineCall({
    event: "client:get_desktop",
    request: makeCodec(Messages.GetDesktopReq),
    reply: makeListCodec(Messages.GetDesktopRet, "desktops")
  }),
  getDpe: defineCall({
    event: "client:get_dpe",
    request: makeCodec(Messages.GetDpeReq),
    reply: makeCodec(Messages.GetDpeRet),
    timeoutSeconds: ({ timeout }) => timeout ?? defaultDpeTimeoutSeconds
  }),
  getResources: defineCall({
    event: "client:get_resources",
    request: makeCodec(Messages.GetResourcesReq),
    reply: makeListCodec(Messages.GetResourcesRet, "resources")
  }),
  getFinder: defineCall({
    event: "client:get_finder",
    aliases: ["client:list_finder"],
    request: makeCodec(Messages.GetFinderReq),
    reply: makeListCodec(Messages.GetFinderRet, "documents")
  }),
  getApprovals: defineCall({
    event: "client:get_approvals",
    request: makeCodec(Messages.GetApprovalsReq),
    reply: makeCodec(Messages.GetApprovalsRet)
  }),
  decideApproval: defineCall({
    event: "client:decide_approval",
    request: makeCodec(Messages.DecideApprovalReq),
    reply: makeCodec(Messages.DecideApprovalRet)
  }),
  getSkills: defineCall({
    event: "client:get_skills",
    request: makeCodec(Messages.TargetReq),
    reply: makeListCodec(Messages.GetSkillsRet, "skills")
  }),
  getSkill: defineCall({
    event: "client:get_skill",
    request: makeCodec(Messages.GetSkillReq),
    reply: makeCodec(Messages.GetSkillRet)
  }),
  getBlob: defineCall({
    event: "client:get_blob",
    request: makeCodec(Messages.GetBlobReq),
    reply: makeCodec(Messages.GetBlobRet)
  }),
  putBlob: undefined,
  mcp: defineCall({
    event: "client:mcp",
    request: makeCodec(Messages.McpReq),
    reply: makeCodec(Messages.McpRet),
    timeoutSeconds: ({ timeout }) => timeout ?? defaultMcpTimeoutSeconds
  })
} satisfies Calls

/** Routes `client:*` events of newer peers by their Computer (spec §4.1). */
export const unknownCall: RoutedDefinition = defineCall({
  event: "client:*",
  request: makeCodec(Messages.TargetReq),
  reply: makeCodec(Schema.Unknown)
})

/** Requests that the Server handles itself (spec §5.2). */
export const serverRequests: ServerRequests = {
  join: { kind: "join", event: "server:join_office", from: "member", request: makeCodec(Messages.EnterOfficeReq) },
  leave: { kind: "leave", event: "server:leave_office", from: "member", request: makeCodec(Messages.LeaveOfficeReq) },
  list: {
    kind: "list",
    event: "server:list_room",
    from: "agent",
    request: makeCodec(Messages.ListRoomReq),
    reply: makeCodec(Messages.ListRoomRet)
  }
}

const defineUpdate = (part: ComputerPart, name: string): UpdateDefinition => ({
  kind: "update",
  event: `server:${name}`,
  notification: `notify:${name}`,
  from: "computer",
  part,
  request: makeCodec(Messages.ComputerRef)
})

/** Updates without a reply (spec §5.2). Each becomes the notification of the same part. */
export const updates: { readonly [P in ComputerPart]: UpdateDefinition } = {
  config: defineUpdate("config", "update_config"),
  toolList: defineUpdate("toolList", "update_tool_list"),
  desktop: defineUpdate("desktop", "update_desktop"),
  finder: defineUpdate("finder", "update_finder"),
  skills: defineUpdate("skills", "update_skills")
}

/** The Agent's cancellation of a call (spec §6.3). */
export const cancel: CancelDefinition = {
  kind: "cancel",
  event: "server:tool_call_cancel",
  from: "agent",
  request: makeCodec(Messages.AgentCallData)
}
