import { readPair, readRefusal, writePair, writeRefusal } from "./acks.ts"
import { calls, cancel, offices, reports, serverRow } from "./events.ts"
import { readNotice, writeNotice } from "./notifications.ts"

/** Everything that is spelled for the wire in protocol line 0.2. */
export const line = {
  /** The Agent's requests to Computers, with the codecs of both ends. */
  calls,
  /** What members ask of the Server itself. */
  offices,
  /** What Computers report, by the part that changed. */
  reports,
  /** The Agent gives up a call. */
  cancel,
  /** How the Server treats an event a member sent. */
  serverRow,
  writeNotice,
  readNotice,
  writePair,
  readPair,
  writeRefusal,
  readRefusal
}
