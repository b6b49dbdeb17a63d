import { Schema } from "effect"
import { Caller } from "./Caller.ts"
import { makeCodec } from "../validation.ts"
import { type Grant, maxStandingApprovals } from "./standingApprovals.ts"
import { maxPartLength, maxPins, type ToolPin } from "../tools/toolPins.ts"

/** What a Computer keeps about approvals between its runs. */
export interface StoredApprovals {
  /** The oldest one first, as the pins. */
  readonly grants: ReadonlyArray<Grant>
  readonly pins: ReadonlyArray<ToolPin>
}

export const noApprovals: StoredApprovals = { grants: [], pins: [] }

// MCP servers, the Server and programs choose names: one that the codec rejects would keep all approvals from the file.
const Text = Schema.String
const Part = Schema.String.check(Schema.isMaxLength(maxPartLength + 100))

const StoredGrant = Schema.Struct({
  id: Text,
  office: Schema.optionalKey(Text),
  line: Schema.optionalKey(Text),
  server: Text,
  tool: Text,
  toolDigest: Text,
  until: Schema.optionalKey(Schema.Finite),
  by: Text,
  at: Schema.Finite,
  approver: Schema.optionalKey(Schema.Literals(["owner", "page", "agent"])),
  caller: Schema.optionalKey(Caller)
})

const StoredPin = Schema.Struct({
  server: Text,
  tool: Text,
  digest: Text,
  definition: Schema.Struct({ name: Part, description: Part, schema: Part, annotations: Part, server: Part }),
  at: Schema.Finite,
  by: Text
})

/** The approvals of one Computer in a file. */
export const storedApprovalsCodec = makeCodec(
  Schema.Struct({
    grants: Schema.Array(StoredGrant).check(Schema.isMaxLength(maxStandingApprovals)),
    pins: Schema.Array(StoredPin).check(Schema.isMaxLength(maxPins))
  })
)
