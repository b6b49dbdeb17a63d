import { Result, type Schema } from "effect"
import { makeCodec } from "../../validation.ts"
import type { Membership } from "../../model/Membership.ts"
import type { Notification, ComputerPart } from "../../model/Notification.ts"
import { AgentCallData, ComputerRef, OfficeNotification } from "./office.ts"

/** An event with its body, ready for the wire. */
export interface WireMessage {
  readonly event: string
  readonly body: unknown
}

/** One notification: how a notice becomes its body and back. */
interface NotificationDefinition<N extends Notification> {
  readonly constant: string
  readonly event: string
  readonly from: "server"
  readonly encode: (notification: N) => WireMessage
  readonly decode: (body: unknown) => Result.Result<N, string>
}

const defineNotification = <N extends Notification, Fields, Wire>(
  constant: string,
  event: string,
  schema: Schema.Codec<Fields, Wire>,
  toFields: (notification: N) => Fields,
  toNotification: (fields: Fields) => Result.Result<N, string>
): NotificationDefinition<N> => {
  const { decode, encode } = makeCodec(schema)
  return {
    constant,
    event,
    from: "server",
    encode: (notification) => ({ event, body: encode(toFields(notification)) }),
    decode: (body) => Result.flatMap(decode(body), toNotification)
  }
}

type EnteredNotification = Extract<Notification, { readonly _tag: "Entered" }>
type LeftNotification = Extract<Notification, { readonly _tag: "Left" }>
type UpdatedNotification = Extract<Notification, { readonly _tag: "Updated" }>
type CancelledNotification = Extract<Notification, { readonly _tag: "Cancelled" }>

const encodeMembership = ({ name, office, role }: Membership): typeof OfficeNotification.Type =>
  role === "agent" ? { officeId: office, agent: name } : { officeId: office, computer: name }

const decodeMembership = ({
  agent,
  computer,
  officeId
}: typeof OfficeNotification.Type): Result.Result<Membership, string> => {
  if (computer !== undefined) return Result.succeed({ office: officeId, role: "computer", name: computer })
  if (agent !== undefined) return Result.succeed({ office: officeId, role: "agent", name: agent })
  return Result.fail("neither computer nor agent is given")
}

const defineUpdated = (part: ComputerPart, constant: string, event: string) =>
  defineNotification<UpdatedNotification, typeof ComputerRef.Type, typeof ComputerRef.Encoded>(
    constant,
    event,
    ComputerRef,
    ({ computer }) => ({ computer }),
    ({ computer }) => Result.succeed({ _tag: "Updated", part, computer })
  )

/** What the Server tells an office (spec §5.3). Only the Server sends these. */
export const notifications = {
  entered: defineNotification<
    EnteredNotification,
    typeof OfficeNotification.Type,
    typeof OfficeNotification.Encoded
  >(
    "ENTER_OFFICE_NOTIFICATION",
    "notify:enter_office",
    OfficeNotification,
    ({ membership }) => encodeMembership(membership),
    (fields) => Result.map(decodeMembership(fields), (membership) => ({ _tag: "Entered", membership }))
  ),
  left: defineNotification<
    LeftNotification,
    typeof OfficeNotification.Type,
    typeof OfficeNotification.Encoded
  >(
    "LEAVE_OFFICE_NOTIFICATION",
    "notify:leave_office",
    OfficeNotification,
    ({ membership }) => encodeMembership(membership),
    (fields) => Result.map(decodeMembership(fields), (membership) => ({ _tag: "Left", membership }))
  ),
  config: defineUpdated("config", "UPDATE_CONFIG_NOTIFICATION", "notify:update_config"),
  toolList: defineUpdated("toolList", "UPDATE_TOOL_LIST_NOTIFICATION", "notify:update_tool_list"),
  desktop: defineUpdated("desktop", "UPDATE_DESKTOP_NOTIFICATION", "notify:update_desktop"),
  finder: defineUpdated("finder", "UPDATE_FINDER_NOTIFICATION", "notify:update_finder"),
  cancelled: defineNotification<
    CancelledNotification,
    typeof AgentCallData.Type,
    typeof AgentCallData.Encoded
  >(
    "CANCEL_TOOL_CALL_NOTIFICATION",
    "notify:tool_call_cancel",
    AgentCallData,
    ({ agent, reqId }) => ({ agent, reqId }),
    (fields) => Result.succeed({ _tag: "Cancelled", ...fields })
  )
}

/** A notice as the office hears it. */
export const encodeNotification = (notification: Notification): WireMessage => {
  switch (notification._tag) {
    case "Entered":
      return notifications.entered.encode(notification)
    case "Left":
      return notifications.left.encode(notification)
    case "Updated":
      return notifications[notification.part].encode(notification)
    case "Cancelled":
      return notifications.cancelled.encode(notification)
  }
}

const decodersByEvent: ReadonlyMap<string, (body: unknown) => Result.Result<Notification, string>> = new Map(
  Object.values(notifications).map(({ event, decode }) => [event, decode])
)

/** The notice a member was sent, or why it is none. */
export const decodeNotification = (event: string, body: unknown): Result.Result<Notification, string> =>
  decodersByEvent.get(event)?.(body) ?? Result.fail(`Unknown notification ${JSON.stringify(event)}`)
