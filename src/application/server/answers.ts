import { Result } from "effect"
import type { Line } from "../../domain/protocol/lines.ts"
import type { ServerRow } from "../../domain/protocol/v0_2/events.ts"
import type { Refusal } from "../../domain/refusal.ts"
import { jsonBody } from "../ports/Body.ts"
import type { Answer } from "../ports/Transport.ts"

/** What answers the sender when nothing is to be said: an acknowledgement without values. */
export const silence: Answer = []

/** An acknowledgement with these values. */
export const values = (...given: ReadonlyArray<unknown>): Answer => given.map(jsonBody)

/** Does a message of this row go unanswered, whatever becomes of it? */
export const isTold = (row: ServerRow | undefined): boolean =>
  row?.kind === "report" || row?.kind === "cancel"

/** How a message is refused, in the shape that its event promises; `undefined` is the row of an unknown event. */
export const refusalAnswer = (line: Line, row: ServerRow | undefined, refusal: Refusal): Answer => {
  if (row?.kind === "join" || row?.kind === "leave") return values(...line.writePair(Result.fail(refusal)))
  return isTold(row) ? silence : values(line.writeRefusal(refusal))
}
