import type { Duration } from "effect"
import type { Addressee } from "../../application/ports/NodeLink.ts"
import type { Asked } from "../../application/ports/Transport.ts"
import { unavailable } from "../../domain/refusal.ts"
import { boundOfContent, bytesOf, type Content, fieldsOf, kinds } from "./frames.ts"
import { mostFieldBytes, mostWholeBytes, type Outbox, type Waiting } from "./Outbox.ts"
import {
  boundOfRequest,
  boundOfTell,
  type Ending,
  endingOf,
  refused,
  writeRequest,
  writeTell
} from "./wire.ts"

// A frame goes as a whole where it is short and nothing is before it in its lane, else it waits in the lane.

/** What a member of another node is asked. */
export interface Request {
  readonly to: Addressee
  readonly event: string
  readonly content: Content
  readonly deadline: Duration.Duration
}

/** Why nothing more goes to a node for now. */
export const tooMuchWaits = unavailable("Too much waits for the other node already")

const answerLane = (id: number): string => `answer ${id}`

/** Is the name of the event too long for a request to go? */
export const isTooNamed = (to: Addressee, event: string): boolean =>
  boundOfRequest(to, event) > mostFieldBytes

/** Sends a request. Gives what waits of it, if it waits, or `"refused"` when too much waits already. */
export const sendRequest = (
  outbox: Outbox,
  id: number,
  millis: number,
  { content, event, to }: Request
): Waiting | "refused" | undefined => {
  const fields = boundOfRequest(to, event)
  const bound = fields + boundOfContent(content)
  if (bound <= mostWholeBytes && outbox.isFree(to.sid)) {
    const writer = outbox.writer(bound).begin(kinds.request)
    writeRequest(writer, id, millis, to, event).content(content).end()
    return undefined
  }
  const head = fieldsOf(fields, kinds.request, (writer) => writeRequest(writer, id, millis, to, event))
  return outbox.wait(to.sid, head, bytesOf(content)) ?? "refused"
}

/** Says that the answer to a request is not wanted any more. */
export const sendForget = (outbox: Outbox, id: number): void => {
  outbox.writer(8).begin(kinds.forget).u32(id).end()
}

const sendWhole = (outbox: Outbox, { bound, content, kind, write }: Ending): void => {
  const writer = outbox.writer(bound + boundOfContent(content)).begin(kind)
  write(writer)
  writer.content(content).end()
}

/** Sends how a request ended; false when too much waits for the node already, which it is told instead. */
export const sendAnswer = (outbox: Outbox, id: number, asked: Asked): boolean => {
  const ending = endingOf(id, asked)
  const { bound, content, kind, write } = ending
  if (bound + boundOfContent(content) <= mostWholeBytes && outbox.isFree("")) {
    sendWhole(outbox, ending)
    return true
  }
  if (outbox.wait(answerLane(id), fieldsOf(bound, kind, write), bytesOf(content))) return true
  sendWhole(outbox, refused(id, tooMuchWaits))
  return false
}

/** Takes an answer back that waits. */
export const withdrawAnswer = (outbox: Outbox, id: number): void => outbox.withdrawAll(answerLane(id))

/** Tells some members something. Gives how many messages had to be left out. */
export const sendTell = (
  outbox: Outbox,
  sids: ReadonlyArray<string>,
  event: string,
  content: Content
): number => {
  const fields = boundOfTell(sids, event)
  const bound = fields + boundOfContent(content)
  if (bound <= mostWholeBytes && sids.every((sid) => outbox.isFree(sid))) {
    const writer = outbox.writer(bound).begin(kinds.tell)
    writeTell(writer, sids, event).content(content).end()
    return 0
  }
  const [sid] = sids
  if (sid === undefined) return 0
  if (sids.length > 1) {
    // Each member has a lane of its own.
    const half = Math.ceil(sids.length / 2)
    return (
      sendTell(outbox, sids.slice(0, half), event, content) +
      sendTell(outbox, sids.slice(half), event, content)
    )
  }
  if (fields > mostFieldBytes) return 1
  const head = fieldsOf(fields, kinds.tell, (writer) => writeTell(writer, sids, event))
  return outbox.wait(sid, head, bytesOf(content)) === undefined ? 1 : 0
}
