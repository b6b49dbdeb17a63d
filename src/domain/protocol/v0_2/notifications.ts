import { Result, type Schema } from "effect"
import { codec } from "../../explain.ts"
import type { Seat } from "../../office/membership.ts"
import type { Notice, Part } from "../../office/notice.ts"
import { AgentCallData, ComputerRef, OfficeNotification } from "./office.ts"

/** An event with its body, ready for the wire. */
export interface WireMessage {
  readonly event: string
  readonly body: unknown
}

/** One notification: how a notice becomes its body and back. */
interface NotificationRow<N extends Notice> {
  readonly constant: string
  readonly event: string
  readonly from: "server"
  readonly write: (notice: N) => WireMessage
  readonly read: (body: unknown) => Result.Result<N, string>
}

const notification = <N extends Notice, Fields, Wire>(
  constant: string,
  event: string,
  schema: Schema.Codec<Fields, Wire>,
  toFields: (notice: N) => Fields,
  toNotice: (fields: Fields) => Result.Result<N, string>
): NotificationRow<N> => {
  const { decode, encode } = codec(schema)
  return {
    constant,
    event,
    from: "server",
    write: (notice) => ({ event, body: encode(toFields(notice)) }),
    read: (body) => Result.flatMap(decode(body), toNotice)
  }
}

type Entered = Extract<Notice, { readonly _tag: "Entered" }>
type Left = Extract<Notice, { readonly _tag: "Left" }>
type Updated = Extract<Notice, { readonly _tag: "Updated" }>
type Cancelled = Extract<Notice, { readonly _tag: "Cancelled" }>

const seatFields = ({ name, office, role }: Seat): typeof OfficeNotification.Type =>
  role === "agent" ? { officeId: office, agent: name } : { officeId: office, computer: name }

const readSeat = ({
  agent,
  computer,
  officeId
}: typeof OfficeNotification.Type): Result.Result<Seat, string> => {
  if (computer !== undefined) return Result.succeed({ office: officeId, role: "computer", name: computer })
  if (agent !== undefined) return Result.succeed({ office: officeId, role: "agent", name: agent })
  return Result.fail("neither computer nor agent is given")
}

const updated = (part: Part, constant: string, event: string) =>
  notification<Updated, typeof ComputerRef.Type, typeof ComputerRef.Encoded>(
    constant,
    event,
    ComputerRef,
    ({ computer }) => ({ computer }),
    ({ computer }) => Result.succeed({ _tag: "Updated", part, computer })
  )

/** What the Server tells an office (spec §5.3). Only the Server sends these. */
export const notifications = {
  entered: notification<Entered, typeof OfficeNotification.Type, typeof OfficeNotification.Encoded>(
    "ENTER_OFFICE_NOTIFICATION",
    "notify:enter_office",
    OfficeNotification,
    ({ seat }) => seatFields(seat),
    (fields) => Result.map(readSeat(fields), (seat) => ({ _tag: "Entered", seat }))
  ),
  left: notification<Left, typeof OfficeNotification.Type, typeof OfficeNotification.Encoded>(
    "LEAVE_OFFICE_NOTIFICATION",
    "notify:leave_office",
    OfficeNotification,
    ({ seat }) => seatFields(seat),
    (fields) => Result.map(readSeat(fields), (seat) => ({ _tag: "Left", seat }))
  ),
  config: updated("config", "UPDATE_CONFIG_NOTIFICATION", "notify:update_config"),
  toolList: updated("toolList", "UPDATE_TOOL_LIST_NOTIFICATION", "notify:update_tool_list"),
  desktop: updated("desktop", "UPDATE_DESKTOP_NOTIFICATION", "notify:update_desktop"),
  finder: updated("finder", "UPDATE_FINDER_NOTIFICATION", "notify:update_finder"),
  cancelled: notification<Cancelled, typeof AgentCallData.Type, typeof AgentCallData.Encoded>(
    "CANCEL_TOOL_CALL_NOTIFICATION",
    "notify:tool_call_cancel",
    AgentCallData,
    ({ agent, reqId }) => ({ agent, reqId }),
    (fields) => Result.succeed({ _tag: "Cancelled", ...fields })
  )
}

/** A notice as the office hears it. */
export const writeNotice = (notice: Notice): WireMessage => {
  switch (notice._tag) {
    case "Entered":
      return notifications.entered.write(notice)
    case "Left":
      return notifications.left.write(notice)
    case "Updated":
      return notifications[notice.part].write(notice)
    case "Cancelled":
      return notifications.cancelled.write(notice)
  }
}

const readers: ReadonlyMap<string, (body: unknown) => Result.Result<Notice, string>> = new Map(
  Object.values(notifications).map(({ event, read }) => [event, read])
)

/** The notice a member was sent, or why it is none. */
export const readNotice = (event: string, body: unknown): Result.Result<Notice, string> =>
  readers.get(event)?.(body) ?? Result.fail(`Unknown notification ${JSON.stringify(event)}`)
