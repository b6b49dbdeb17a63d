import { decodeMembershipAck, decodeProtocolError, encodeMembershipAck, encodeProtocolError } from "./acks.ts"
import { callStatus, decodeCallStatus, encodeCallStatus } from "./callStatus.ts"
import { calls, cancel, findEventDefinition, serverRequests, updates } from "./events.ts"
import { decodeNotification, encodeNotification, encodeReplaced, replacedEvent } from "./notifications.ts"

export const line = {
  calls,
  serverRequests,
  updates,
  cancel,
  callStatus,
  findEventDefinition,
  encodeNotification,
  decodeNotification,
  encodeCallStatus,
  decodeCallStatus,
  encodeReplaced,
  replacedEvent,
  encodeMembershipAck,
  decodeMembershipAck,
  encodeProtocolError,
  decodeProtocolError
}
