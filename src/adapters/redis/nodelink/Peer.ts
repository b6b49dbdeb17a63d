import type { ByteBudget } from "./ByteBudget.ts"
import { InboundRequests } from "./InboundRequests.ts"
import type { LinkDiagnostics } from "./LinkDiagnostics.ts"
import { FrameReassembler } from "./FrameReassembler.ts"
import { type SendQueueOptions, SendQueue } from "./SendQueue.ts"
import { OutboundRequests } from "./OutboundRequests.ts"

/** Pulses after which a node with which nothing is under way is forgotten: a minute. */
const maxIdleTicks = 240

/** Pulses after which an idle node hears what has arrived from it: a second. */
const acknowledgeAfterTicks = 4

/** What a {@link Peer} needs. */
export interface PeerOptions {
  readonly node: string
  readonly queueOptions: SendQueueOptions
  readonly diagnostics: LinkDiagnostics
  /** What bodies of all nodes may take that have not come whole. */
  readonly reassemblyBudget: ByteBudget
  /** Numbers that no question to any node has borne lately. */
  readonly nextId: () => number
  /** Milliseconds between two calls of {@link Peer.tick}. */
  readonly tickMillis: number
}

/** Another node, from the first message to the day it goes: then all of this is thrown away. */
export class Peer {
  readonly node: string
  readonly sendQueue: SendQueue
  readonly reassembler: FrameReassembler
  /** What this node asks the other one. */
  readonly outbound: OutboundRequests
  /** What this node does for the other one. */
  readonly inbound: InboundRequests
  #idleTicks = 0
  #isClosed = false

  constructor({ queueOptions, diagnostics, reassemblyBudget, nextId, node, tickMillis }: PeerOptions) {
    this.node = node
    this.sendQueue = new SendQueue(queueOptions)
    this.reassembler = new FrameReassembler(queueOptions.maxQueuedBytes, reassemblyBudget)
    this.outbound = new OutboundRequests({ node, queue: this.sendQueue, diagnostics, nextId, tickMillis })
    this.inbound = new InboundRequests(this.sendQueue, diagnostics)
  }

  /** True once this end has given everything up. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** It is of use just now. */
  markActive(): void {
    this.#idleTicks = 0
  }

  /** To be called again and again; true when nothing has been under way for so long that it may be forgotten. */
  tick(): boolean {
    this.outbound.tick()
    const { inbound, reassembler, sendQueue, outbound } = this
    const isBusy = outbound.size + inbound.size + reassembler.size + sendQueue.queuedBytes > 0
    this.#idleTicks = isBusy ? 0 : this.#idleTicks + 1
    if (this.#idleTicks === acknowledgeAfterTicks) sendQueue.acknowledge()
    return this.#idleTicks > maxIdleTicks
  }

  /** Nothing goes to it or is taken from it any more. */
  close(): void {
    this.#isClosed = true
    this.sendQueue.close()
    this.reassembler.close()
  }

  /** Gives up what is under way: the node is away. */
  failAll(reason: string): void {
    this.inbound.cancelAll()
    this.outbound.failAll(reason)
  }
}
