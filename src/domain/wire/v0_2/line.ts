import { plainNaming } from "../../tools/naming.ts"
import { calls } from "../calls.ts"
import { makeLine } from "../ProtocolLine.ts"
import { encodeProtocolError } from "./acks.ts"

/** The protocol 0.2: that of the seeds, with the events of the later 0.2.1 and 0.2.2. */
export const line = makeLine({
  name: "0.2",
  version: { major: 0, minor: 2, patch: 0 },
  calls: { ...calls, putBlob: undefined },
  // Nodes of earlier versions know only this line: the keys are the ids.
  officeKey: (officeId) => officeId,
  naming: plainNaming,
  hasRoleInHandshake: true,
  // Agents of the seeds show data in blobs as empty.
  inlineBytes: Number.POSITIVE_INFINITY,
  encodeProtocolError
})
