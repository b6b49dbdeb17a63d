import { laterCalls } from "../calls.ts"
import { extendLine } from "../ProtocolLine.ts"
import { line as v0_3 } from "../v0_3/line.ts"

/** The protocol 0.4: as 0.3, with uploads to Computers. */
export const line = extendLine(v0_3, {
  name: "0.4",
  version: { major: 0, minor: 4, patch: 0 },
  calls: { ...v0_3.calls, putBlob: laterCalls.putBlob }
})
