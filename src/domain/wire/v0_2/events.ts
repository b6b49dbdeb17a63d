import { Schema } from "effect"
import { asObject } from "../../json.ts"
import { isIdentifier } from "../../model/fields.ts"
import { isRole } from "../../model/Membership.ts"
import type { ComputerPart } from "../../model/Notification.ts"
import { makeCodec } from "../../validation.ts"
import { defineCall, type RoutedDefinition } from "../defineCall.ts"
import * as Messages from "./messages.ts"

/** Routes `client:*` events of newer peers by their Computer (spec §4.1). */
export const unknownCall: RoutedDefinition = defineCall({
  event: "client:*",
  fields: {},
  reply: makeCodec(Schema.Unknown)
})

const joinRequest = makeCodec(Messages.EnterOfficeReq, (wire) => {
  const { name, office_id: officeId, role, take_over: takeOver } = asObject(wire)
  if (!isRole(role) || !isIdentifier(name) || !isIdentifier(officeId) || takeOver !== undefined) return undefined
  return { role, name, officeId }
})

/** Requests that the Server handles itself (spec §5.2). */
export const serverRequests = {
  join: { kind: "join", event: "server:join_office", from: "member", request: joinRequest },
  leave: { kind: "leave", event: "server:leave_office", from: "member", request: makeCodec(Messages.LeaveOfficeReq) },
  list: {
    kind: "list",
    event: "server:list_room",
    from: "agent",
    request: makeCodec(Messages.ListRoomReq),
    reply: makeCodec(Messages.ListRoomRet)
  }
} as const

const defineUpdate = (part: ComputerPart, name: string) => ({
  kind: "update" as const,
  event: `server:${name}`,
  notification: `notify:${name}`,
  from: "computer" as const,
  part,
  request: makeCodec(Messages.ComputerRef)
})

/** A Computer's updates of its parts, without a reply (spec §5.2). Each becomes the notification of the same part. */
export const updates = {
  config: defineUpdate("config", "update_config"),
  toolList: defineUpdate("toolList", "update_tool_list"),
  desktop: defineUpdate("desktop", "update_desktop"),
  finder: defineUpdate("finder", "update_finder"),
  skills: defineUpdate("skills", "update_skills")
} satisfies { readonly [P in ComputerPart]: unknown }

/** The Agent's cancellation of a call (spec §6.3). */
export const cancel = {
  kind: "cancel",
  event: "server:tool_call_cancel",
  from: "agent",
  request: makeCodec(Messages.AgentCallData)
} as const
