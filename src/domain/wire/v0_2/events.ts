import { Schema } from "effect"
import type { ComputerPart } from "../../model/Notification.ts"
import { makeCodec } from "../../validation.ts"
import { defineCall, type RoutedDefinition } from "../defineCall.ts"
import type { CancelDefinition, ServerRequests, UpdateDefinition } from "../ProtocolLine.ts"
import * as Messages from "./messages.ts"

/** Routes `client:*` events of newer peers by their Computer (spec §4.1). */
export const unknownCall: RoutedDefinition = defineCall({
  event: "client:*",
  fields: {},
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
