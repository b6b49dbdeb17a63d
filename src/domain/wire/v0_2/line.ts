import { decodeMembershipAck, decodeProtocolError, encodeMembershipAck, encodeProtocolError } from "./acks.ts"
import { calls, cancel, findEventDefinition, serverRequests, updates } from "./events.ts"
import { decodeNotification, encodeNotification } from "./notifications.ts"

export const line = {
  calls,
  serverRequests,
  updates,
  cancel,
  findEventDefinition,
  encodeNotification,
  decodeNotification,
  encodeMembershipAck,
  decodeMembershipAck,
  encodeProtocolError,
  decodeProtocolError
}
