import { decodeMembershipAck, decodeProtocolError, encodeMembershipAck, encodeProtocolError } from "./acks.ts"
import { calls, cancel, findEventDefinition, serverRequests, updates } from "./events.ts"
import { decodeNotification, encodeNotification } from "./notifications.ts"

/** Everything that is spelled for the wire in protocol line 0.2. */
export const line = {
  /** The Agent's requests to Computers, with the codecs of both ends. */
  calls,
  /** What members ask of the Server itself. */
  serverRequests,
  /** What Computers report, by the part that changed. */
  updates,
  /** The Agent gives up a call. */
  cancel,
  /** How the Server treats an event a member sent. */
  findEventDefinition,
  encodeNotification,
  decodeNotification,
  encodeMembershipAck,
  decodeMembershipAck,
  encodeProtocolError,
  decodeProtocolError
}
