import { Result } from "effect"
import type { EventDefinition, ProtocolLine } from "../../../domain/wire/lines.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { jsonBody } from "../../ports/Body.ts"
import type { Reply } from "../../ports/Transport.ts"

/** What answers the sender when nothing is to be said: an acknowledgement without values. */
export const emptyReply: Reply = []

/** An acknowledgement with these values. */
export const jsonReply = (...given: ReadonlyArray<unknown>): Reply => given.map(jsonBody)

/** Does a message of this row go unanswered, whatever becomes of it? */
export const isNotification = (definition: EventDefinition | undefined): boolean =>
  definition?.kind === "update" || definition?.kind === "cancel"

/** How a message is refused, in the shape that its event promises; `undefined` is the row of an unknown event. */
export const errorReply = (
  line: ProtocolLine,
  definition: EventDefinition | undefined,
  error: ProtocolError
): Reply => {
  if (definition?.kind === "join" || definition?.kind === "leave")
    return jsonReply(...line.encodeMembershipAck(Result.fail(error)))
  return isNotification(definition) ? emptyReply : jsonReply(line.encodeProtocolError(error))
}
