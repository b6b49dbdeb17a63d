import { Schema } from "effect"
import { optionalField } from "../../model/fields.ts"
import { Identifier } from "../../model/names.ts"
import { Role } from "../../model/Role.ts"
import { SessionInfo } from "../../model/SessionInfo.ts"

/** `EnterOfficeReq`. */
export const EnterOfficeReq = Schema.Struct({ role: Role, name: Identifier, officeId: Identifier }).pipe(
  Schema.encodeKeys({ officeId: "office_id" })
)

/** `LeaveOfficeReq`. */
export const LeaveOfficeReq = Schema.Struct({ officeId: Identifier }).pipe(Schema.encodeKeys({ officeId: "office_id" }))

/** `ListRoomReq`. */
export const ListRoomReq = Schema.Struct({
  agent: Identifier,
  reqId: Identifier,
  officeId: Identifier
}).pipe(Schema.encodeKeys({ reqId: "req_id", officeId: "office_id" }))

/** `SessionInfo`. */
const WireSessionInfo = SessionInfo.pipe(Schema.encodeKeys({ officeId: "office_id", version: "a2c_version" }))

/** `ListRoomRet`. */
export const ListRoomRet = Schema.Struct({
  sessions: Schema.Array(WireSessionInfo),
  reqId: Schema.String
}).pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** The body of all `server:update_*` and `notify:update_*` (seed 000, `UpdateComputerConfigReq`). */
export const ComputerRef = Schema.Struct({ computer: Identifier })

/** `AgentCallData`: the body of `server:tool_call_cancel` and its notification. */
export const AgentCallData = Schema.Struct({ agent: Identifier, reqId: Identifier }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** `EnterOfficeNotification` and `LeaveOfficeNotification`: exactly one of the names is set. */
export const OfficeNotification = Schema.Struct({
  officeId: Schema.String,
  computer: optionalField(Schema.String),
  agent: optionalField(Schema.String)
}).pipe(Schema.encodeKeys({ officeId: "office_id" }))
