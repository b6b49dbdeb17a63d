import { Result } from "effect"
import type { Membership } from "../../model/Membership.ts"
import { officeIdOf } from "../../model/ids.ts"
import { computerParts, type Notification } from "../../model/Notification.ts"
import { makeCodec } from "../../validation.ts"
import { updates } from "./events.ts"
import { AgentCallData, ComputerRef, OfficeNotification } from "./messages.ts"

interface WireMessage {
  readonly event: string
  readonly body: unknown
}

/** Events that the Server sends to an office (spec §5.3), beside those of the updates. */
export const notificationEvents = {
  entered: "notify:enter_office",
  left: "notify:leave_office",
  cancelled: "notify:tool_call_cancel"
} as const

/**
 * The last message to a connection that another connection of the same identity replaced: its client must not rejoin. An
 * addition of this project, which published clients ignore.
 */
export const replacedEvent = "notify:session_replaced"

export const encodeReplaced = (reason: string): WireMessage => ({ event: replacedEvent, body: { reason } })

const membershipCodec = makeCodec(OfficeNotification)
const updateCodec = makeCodec(ComputerRef)
const cancelCodec = makeCodec(AgentCallData)

/** Does without the codec: a join costs much less. */
const encodeMembership = ({ name, office, role }: Membership) => {
  const officeId = officeIdOf(office)
  return role === "agent" ? { office_id: officeId, agent: name } : { office_id: officeId, computer: name }
}

const decodeMembership = (body: unknown): Result.Result<Membership, string> =>
  Result.flatMap(membershipCodec.decode(body), ({ agent, computer, officeId: office }) => {
    if (computer !== undefined) return Result.succeed<Membership>({ office, role: "computer", name: computer })
    if (agent !== undefined) return Result.succeed<Membership>({ office, role: "agent", name: agent })
    return Result.fail("computer or agent is required")
  })

export const encodeNotification = (notification: Notification): WireMessage => {
  switch (notification._tag) {
    case "Entered":
    case "Left": {
      const event = notification._tag === "Entered" ? notificationEvents.entered : notificationEvents.left
      return { event, body: encodeMembership(notification.membership) }
    }
    case "Updated":
      return { event: updates[notification.part].notification, body: { computer: notification.computer } }
    case "Cancelled":
      return { event: notificationEvents.cancelled, body: cancelCodec.encode(notification) }
  }
}

/** Decodes a notification; fails with the error in one line. */
export const decodeNotification = (event: string, body: unknown): Result.Result<Notification, string> => {
  switch (event) {
    case notificationEvents.entered:
      return Result.map(decodeMembership(body), (membership) => ({ _tag: "Entered", membership }))
    case notificationEvents.left:
      return Result.map(decodeMembership(body), (membership) => ({ _tag: "Left", membership }))
    case notificationEvents.cancelled:
      return Result.map(cancelCodec.decode(body), (call) => ({ _tag: "Cancelled", ...call }))
  }
  const part = computerParts.find((one) => updates[one].notification === event)
  return part === undefined
    ? Result.fail(`Unknown notification ${JSON.stringify(event)}`)
    : Result.map(updateCodec.decode(body), ({ computer }) => ({ _tag: "Updated", part, computer }))
}
