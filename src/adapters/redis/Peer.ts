import type { Budget } from "./Budget.ts"
import { Errands } from "./Errands.ts"
import type { Faults } from "./Faults.ts"
import { Inbox } from "./Inbox.ts"
import { type Carrier, Outbox } from "./Outbox.ts"
import { Questions } from "./Questions.ts"

/** Pulses after which a node with which nothing is under way is forgotten: a minute. */
const idlePulses = 240

/** Pulses after which an idle node hears what has arrived from it: a second. */
const settlingPulses = 4

/** What a {@link Peer} needs. */
export interface PeerOptions {
  readonly node: string
  readonly carrier: Carrier
  readonly faults: Faults
  /** What bodies of all nodes may take that have not come whole. */
  readonly held: Budget
  /** Numbers that no question to any node has borne lately. */
  readonly nextId: () => number
  /** Milliseconds between two calls of {@link Peer.pulse}. */
  readonly pulseTime: number
}

/** Another node, from the first message to the day it goes: then all of this is thrown away. */
export class Peer {
  readonly node: string
  readonly outbox: Outbox
  readonly inbox: Inbox
  /** What this node asks the other one. */
  readonly questions: Questions
  /** What this node does for the other one. */
  readonly errands: Errands
  #idle = 0
  #gone = false

  constructor({ carrier, faults, held, nextId, node, pulseTime }: PeerOptions) {
    this.node = node
    this.outbox = new Outbox(carrier)
    this.inbox = new Inbox(carrier.mostWaiting, held)
    this.questions = new Questions({ node, outbox: this.outbox, faults, nextId, pulseTime })
    this.errands = new Errands(this.outbox, faults)
  }

  /** True once this end has given everything up. */
  get isGone(): boolean {
    return this.#gone
  }

  /** It is of use just now. */
  wake(): void {
    this.#idle = 0
  }

  /** To be called again and again; true when nothing has been under way for so long that it may be forgotten. */
  pulse(): boolean {
    this.questions.pulse()
    const { errands, inbox, outbox, questions } = this
    const busy = questions.size + errands.size + inbox.size + outbox.waiting > 0
    this.#idle = busy ? 0 : this.#idle + 1
    if (this.#idle === settlingPulses) outbox.settle()
    return this.#idle > idlePulses
  }

  /** Nothing goes to it or is taken from it any more. */
  close(): void {
    this.#gone = true
    this.outbox.close()
    this.inbox.close()
  }

  /** Gives up what is under way: the node is away. */
  giveUp(reason: string): void {
    this.errands.abandon()
    this.questions.away(reason)
  }
}
