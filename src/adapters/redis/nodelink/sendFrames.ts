import type { Duration } from "effect"
import type { RequestTarget } from "../../../application/ports/NodeLink.ts"
import type { ReplyExit } from "../../../application/ports/Transport.ts"
import { unavailable } from "../../../domain/model/ProtocolError.ts"
import { maxContentBytes, toBytes, type Content, encodeFields, frameKinds } from "./messageFormat.ts"
import { maxFieldBytes, maxUnfragmentedBytes, type SendQueue, type QueuedFrame } from "./SendQueue.ts"
import {
  maxRequestBytes,
  maxNotificationBytes,
  type ReplyFrame,
  encodeReply,
  rejectedReply,
  writeRequestFields,
  writeNotificationFields
} from "./frameContents.ts"

// A frame goes as a whole where it is short and nothing is before it in its lane, else it waits in the lane.

/** What a member of another node is asked. */
export interface NodeRequest {
  readonly to: RequestTarget
  readonly event: string
  readonly content: Content
  readonly timeout: Duration.Duration
}

/** Why nothing more goes to a node for now. */
export const sendQueueFull = unavailable("Too much waits for the other node already")

const replyLane = (id: number): string => `answer ${id}`

/** Is the name of the event too long for a request to go? */
export const isEventTooLong = (to: RequestTarget, event: string): boolean =>
  maxRequestBytes(to, event) > maxFieldBytes

/** Sends a request. Gives what waits of it, if it waits, or `"refused"` when too much waits already. */
export const sendRequest = (
  queue: SendQueue,
  id: number,
  timeoutMillis: number,
  { content, event, to }: NodeRequest
): QueuedFrame | "refused" | undefined => {
  const maxHeadBytes = maxRequestBytes(to, event)
  const maxBytes = maxHeadBytes + maxContentBytes(content)
  if (maxBytes <= maxUnfragmentedBytes && queue.canSendNow(to.sid)) {
    const writer = queue.writerFor(maxBytes).beginFrame(frameKinds.request)
    writeRequestFields(writer, id, timeoutMillis, to, event).content(content).endFrame()
    return undefined
  }
  const head = encodeFields(maxHeadBytes, frameKinds.request, (writer) =>
    writeRequestFields(writer, id, timeoutMillis, to, event)
  )
  return queue.enqueue(to.sid, head, toBytes(content)) ?? "refused"
}

/** Says that the answer to a request is not wanted any more. */
export const sendCancel = (queue: SendQueue, id: number): void => {
  queue.writerFor(8).beginFrame(frameKinds.cancel).u32(id).endFrame()
}

const sendUnfragmented = (
  queue: SendQueue,
  { maxFieldBytes, content, kind, writeFields }: ReplyFrame
): void => {
  const writer = queue.writerFor(maxFieldBytes + maxContentBytes(content)).beginFrame(kind)
  writeFields(writer)
  writer.content(content).endFrame()
}

/** Sends how a request ended; false when too much waits for the node already, which it is told instead. */
export const sendReply = (queue: SendQueue, id: number, exit: ReplyExit): boolean => {
  const reply = encodeReply(id, exit)
  const { maxFieldBytes, content, kind, writeFields } = reply
  if (maxFieldBytes + maxContentBytes(content) <= maxUnfragmentedBytes && queue.canSendNow("")) {
    sendUnfragmented(queue, reply)
    return true
  }
  if (queue.enqueue(replyLane(id), encodeFields(maxFieldBytes, kind, writeFields), toBytes(content)))
    return true
  sendUnfragmented(queue, rejectedReply(id, sendQueueFull))
  return false
}

/** Takes an answer back that waits. */
export const withdrawReply = (queue: SendQueue, id: number): void => queue.withdrawLane(replyLane(id))

/** Tells some members something. Gives how many messages had to be left out. */
export const sendNotification = (
  queue: SendQueue,
  sids: ReadonlyArray<string>,
  event: string,
  content: Content
): number => {
  const maxHeadBytes = maxNotificationBytes(sids, event)
  const maxBytes = maxHeadBytes + maxContentBytes(content)
  if (maxBytes <= maxUnfragmentedBytes && sids.every((sid) => queue.canSendNow(sid))) {
    const writer = queue.writerFor(maxBytes).beginFrame(frameKinds.notify)
    writeNotificationFields(writer, sids, event).content(content).endFrame()
    return 0
  }
  const [sid] = sids
  if (sid === undefined) return 0
  if (sids.length > 1) {
    // Each member has a lane of its own.
    const half = Math.ceil(sids.length / 2)
    return (
      sendNotification(queue, sids.slice(0, half), event, content) +
      sendNotification(queue, sids.slice(half), event, content)
    )
  }
  if (maxHeadBytes > maxFieldBytes) return 1
  const head = encodeFields(maxHeadBytes, frameKinds.notify, (writer) =>
    writeNotificationFields(writer, sids, event)
  )
  return queue.enqueue(sid, head, toBytes(content)) === undefined ? 1 : 0
}
