import { Schema } from "effect"
import { optionalField } from "./fields.ts"
import { Role } from "./Role.ts"

/** `SessionInfo`: a member in a list of an office. The version is for display only. */
export const SessionInfo = Schema.Struct({
  sid: Schema.String,
  name: Schema.String,
  role: Role,
  officeId: Schema.String,
  version: optionalField(Schema.String)
})

export type SessionInfo = typeof SessionInfo.Type
