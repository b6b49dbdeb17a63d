import { FrameReassembler } from "./FrameReassembler.ts"
import { notificationFrame } from "./frameContents.ts"
import { InboundRequests } from "./InboundRequests.ts"
import type { LinkContext } from "./LinkContext.ts"
import type { Content } from "./messageFormat.ts"
import { OutboundRequests } from "./OutboundRequests.ts"
import { maxFieldBytes, SendQueue, type SendQueueOptions } from "./SendQueue.ts"

/** Ticks after which an idle peer is removed: a minute. */
const maxIdleTicks = 240

/** Ticks after which an idle peer gets an acknowledgement: a second. */
const acknowledgeAfterTicks = 4

/** Another node, from its first message until it is lost or idle. A later message of the node makes a new peer. */
export class Peer {
  readonly node: string
  readonly sendQueue: SendQueue
  readonly reassembler: FrameReassembler
  readonly outbound: OutboundRequests
  readonly inbound: InboundRequests
  #idleTicks = 0
  #isClosed = false

  constructor(node: string, queueOptions: SendQueueOptions, context: LinkContext) {
    this.node = node
    this.sendQueue = new SendQueue(queueOptions)
    this.reassembler = new FrameReassembler(queueOptions.maxQueuedBytes, context.reassemblyBudget)
    this.outbound = new OutboundRequests(node, this.sendQueue, context)
    this.inbound = new InboundRequests(this.sendQueue, context.diagnostics)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  markActive(): void {
    this.#idleTicks = 0
  }

  /** Sends a notification to members of the peer. Returns how many members it was dropped for. */
  notify(sids: ReadonlyArray<string>, event: string, content: Content): number {
    const frame = notificationFrame(sids, event, content)
    const [sid] = sids
    if (sid === undefined || this.sendQueue.trySend(sids, frame)) return 0
    if (sids.length > 1) {
      // A long frame waits in the lane of its member.
      const half = Math.ceil(sids.length / 2)
      return this.notify(sids.slice(0, half), event, content) + this.notify(sids.slice(half), event, content)
    }
    if (frame.maxFieldBytes > maxFieldBytes) return 1
    return this.sendQueue.enqueue(sid, frame) === "queue_full" ? 1 : 0
  }

  /** Expires requests. True when the peer has been idle for so long that it may be removed. */
  tick(): boolean {
    this.outbound.tick()
    const { inbound, outbound, reassembler, sendQueue } = this
    const isBusy = outbound.size + inbound.size + reassembler.size + sendQueue.queuedBytes > 0
    this.#idleTicks = isBusy ? 0 : this.#idleTicks + 1
    if (this.#idleTicks === acknowledgeAfterTicks) sendQueue.acknowledge()
    return this.#idleTicks > maxIdleTicks
  }

  /** Stops sending to the peer and drops its incomplete frames. */
  close(): void {
    this.#isClosed = true
    this.sendQueue.close()
    this.reassembler.close()
  }
}
