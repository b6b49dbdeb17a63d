import { Schema } from "effect"
import { optionalField } from "./fields.ts"
import { Role } from "./Role.ts"

/** `SessionInfo`: one member as the Server knows it; the version is for display only. */
export const SessionInfo = Schema.Struct({
  sid: Schema.String,
  name: Schema.String,
  role: Role,
  officeId: Schema.String,
  version: optionalField(Schema.String)
})

export type SessionInfo = typeof SessionInfo.Type
