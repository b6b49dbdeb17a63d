import { Result } from "effect"
import type { EventDefinition, ProtocolLine } from "../../../domain/wire/lines.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { jsonBody } from "../../ports/Body.ts"
import type { Reply } from "../../ports/Transport.ts"

/** An acknowledgement without values. */
export const emptyReply: Reply = []

export const jsonReply = (...given: ReadonlyArray<unknown>): Reply => given.map(jsonBody)

/** True for events without a reply, not even an error. */
export const isNotification = (definition: EventDefinition | undefined): boolean =>
  definition?.kind === "update" || definition?.kind === "cancel"

/** The error reply to an event, in the shape that the event defines. An unknown event has no definition. */
export const errorReply = (
  line: ProtocolLine,
  definition: EventDefinition | undefined,
  error: ProtocolError
): Reply => {
  if (definition?.kind === "join" || definition?.kind === "leave")
    return jsonReply(...line.encodeMembershipAck(Result.fail(error)))
  return isNotification(definition) ? emptyReply : jsonReply(line.encodeProtocolError(error))
}
