import { FrameReassembler } from "./FrameReassembler.ts"
import { notificationFrame } from "./frameContents.ts"
import { makeInboundRequests } from "./InboundRequests.ts"
import { type Content, maxFieldBytes } from "./messageFormat.ts"
import { makeOutboundRequests } from "./OutboundRequests.ts"
import { type LinkContext, maxQueuedBytes, type OutgoingFrame, SendQueue } from "./SendQueue.ts"

/** Ticks after which an idle peer is removed: a minute. */
const maxIdleTicks = 240

/** Ticks after which an idle peer gets an acknowledgement: a second. */
const acknowledgeAfterTicks = 4

/** Another node, from its first message until it is lost or idle. A later message of the node makes a new peer. */
export const makePeer = (node: string, context: LinkContext, publish: (message: Buffer) => void) => {
  const sendQueue = new SendQueue(context, publish)
  const reassembler = new FrameReassembler(maxQueuedBytes, context.reassemblyBudget)
  const outbound = makeOutboundRequests(node, sendQueue, context)
  const inbound = makeInboundRequests(sendQueue, context.diagnostics)
  let idleTicks = 0
  let isClosed = false
  let isDirect = false
  let closeDirect: (() => void) | undefined

  const notify = (sids: ReadonlyArray<string>, event: string, content: Content): number => {
    const frame = notificationFrame(sids, event, content)
    const [sid] = sids
    if (sid === undefined || sendQueue.trySend(sids, frame)) return 0
    if (sids.length > 1) {
      // A long frame waits in the lane of its member.
      const half = Math.ceil(sids.length / 2)
      return notify(sids.slice(0, half), event, content) + notify(sids.slice(half), event, content)
    }
    if (frame.maxFieldBytes > maxFieldBytes) return 1
    return sendQueue.enqueue(sid, frame) === "queue_full" ? 1 : 0
  }

  return {
    node,
    sendQueue,
    reassembler,
    outbound,
    inbound,
    /** Sends a notification to members of the peer. Returns how many members it was dropped for. */
    notify,
    isClosed: () => isClosed,
    /** Messages to the peer are sent over a direct connection. */
    isDirect: () => isDirect,
    /** A direct connection to the peer is or was being opened. */
    isConnecting: () => closeDirect !== undefined,
    /** `close` closes the direct connection to the peer, with the peer at the latest. */
    connect: (close: () => void) => {
      closeDirect = close
    },
    /** Sends all further messages over the direct connection. */
    redirect: (announcement: OutgoingFrame, send: (message: Buffer) => void) => {
      isDirect = true
      sendQueue.redirect(announcement, send)
    },
    markActive: () => {
      idleTicks = 0
    },
    /** Expires requests. True when the peer has been idle for so long that it may be removed. */
    tick: (): boolean => {
      outbound.tick()
      const isBusy = outbound.size() + inbound.size() + reassembler.size + sendQueue.queuedBytes > 0
      idleTicks = isBusy ? 0 : idleTicks + 1
      if (idleTicks === acknowledgeAfterTicks) sendQueue.acknowledge()
      return idleTicks > maxIdleTicks
    },
    /** Stops sending to the peer and drops its incomplete frames. */
    close: () => {
      isClosed = true
      closeDirect?.()
      sendQueue.close()
      reassembler.close()
    }
  }
}

export type Peer = ReturnType<typeof makePeer>
