import { Exit, Result, type Duration } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import {
  type Addressee,
  NodeAway,
  type NodeAsked,
  type NodeLoad,
  type NodeReceive
} from "../../application/ports/NodeLink.ts"
import { NotSent } from "../../application/ports/Transport.ts"
import { badRequest, type Refusal, tooLarge, unavailable } from "../../domain/refusal.ts"
import { Budget } from "./Budget.ts"
import { Faults, type FaultsOptions } from "./Faults.ts"
import { FrameReader, FrameWriter, type Header, kinds, readHeader } from "./frames.ts"
import { mostHeld } from "./Inbox.ts"
import { Buffers, type Carrier, type Outbox } from "./Outbox.ts"
import { Peer } from "./Peer.ts"
import { isTooNamed, sendTell } from "./sending.ts"
import { contentOf, readTell } from "./wire.ts"

/** Most bytes of bodies that wait for one node: some of the largest messages, and no whole memory. */
const mostWaiting = 64 * 1024 * 1024

/** Nodes that are remembered at most: clusters are smaller, strangers may claim any name. */
const mostPeers = 1024

/** Nodes whose bodies may fill the memory that unfinished ones of all nodes share: half a gigabyte. */
const mostFull = 8

/** What an exchange needs of the world. */
export interface ExchangeOptions extends FaultsOptions {
  readonly node: string
  /** Milliseconds between two calls of {@link Exchange.pulse}. */
  readonly pulseTime: number
  /** Publishes to one node; `done` hears how many have got it, or why Redis refused, or nothing when all is lost. */
  readonly publish: (node: string, message: Buffer, done: (outcome: number | string) => void) => void
}

const nothing = () => {}

/** Why another node's request comes to nothing of which it has sent only the beginning. */
const tooMuchHeld = unavailable("The other node holds too much that has not come whole")

/** Who asks hears an end that is known already only after it has what it needs to forget it. */
const endSoon = (end: (asked: NodeAsked) => void, asked: NodeAsked): (() => void) => {
  let wanted = true
  queueMicrotask(() => {
    if (wanted) end(asked)
  })
  return () => {
    wanted = false
  }
}

/**
 * Everything between this node and the others but the connection itself: which others there are, and whose message is
 * whose. It never waits; its owner tells it what happens.
 */
export class Exchange {
  readonly #options: ExchangeOptions
  readonly #faults: Faults
  readonly #peers = new Map<string, Peer>()
  readonly #buffers = new Buffers()
  readonly #held = new Budget(mostFull * mostHeld(mostWaiting))
  #dirty: Array<Outbox> = []
  #receive: NodeReceive | undefined
  #incarnation = 0
  #away: string | undefined = "not connected yet"
  #ids = 0

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.#faults = new Faults(options)
  }

  /** There is a way to the others: a new one, so nothing from before holds. Returns what they are to be told. */
  up(): Buffer {
    this.#incarnation++
    this.#away = undefined
    return this.#notice(kinds.up)
  }

  /** The way to the others is gone, and with it everything under way. */
  down(reason: string): void {
    this.#away = reason
    for (const peer of this.#peers.values()) this.#sever(peer, reason)
  }

  /** What the others are to be told when this node ends. */
  farewell(): Buffer {
    return this.#notice(kinds.bye)
  }

  /** Who serves the others from now on, or nobody. */
  serveWith(receive: NodeReceive | undefined): void {
    this.#receive = receive
    if (receive !== undefined) return
    for (const { errands } of this.#peers.values()) errands.stop()
  }

  request(
    node: string,
    to: Addressee,
    event: string,
    body: Body,
    deadline: Duration.Duration,
    end: (asked: NodeAsked) => void
  ): () => void {
    const notSent = (refusal: Refusal) => endSoon(end, Exit.fail(new NotSent({ refusal })))
    const written = contentOf(body)
    if (Result.isFailure(written)) return notSent(written.failure)
    const content = written.success
    if (content.length > mostWaiting) return notSent(tooLarge(mostWaiting))
    if (this.#away !== undefined) return endSoon(end, Exit.fail(new NodeAway({ node, reason: this.#away })))
    if (isTooNamed(to, event)) return notSent(badRequest("The name of the event is too long"))
    const asked = this.#peer(node).questions.ask({ to, event, content, deadline }, end)
    return Result.isSuccess(asked) ? asked.success : notSent(asked.failure)
  }

  tell(node: string, sids: ReadonlyArray<string>, event: string, body: Body): void {
    const content = contentOf(body)
    if (this.#away !== undefined || Result.isFailure(content)) this.#faults.unsent += sids.length
    else if (sids.length > 0) {
      this.#faults.unsent += sendTell(this.#peer(node).outbox, sids, event, content.success)
    }
  }

  /** The cluster has lost a node. It is told, in case it still lives: it must not wait for us. */
  lost(node: string): void {
    const peer = this.#peers.get(node)
    if (peer === undefined) return
    this.#sever(peer, "the cluster has lost it")
    if (this.#away === undefined) this.#options.publish(node, this.#notice(kinds.over), nothing)
  }

  /** Another node says something to everybody. */
  heard(message: Buffer): void {
    const reader = new FrameReader(message)
    const header = readHeader(reader)
    const kind = reader.frame()?.u8()
    if (header === undefined || (kind !== kinds.up && kind !== kinds.bye))
      return this.#faults.garbled("not readable")
    const peer = this.#peers.get(header.node)
    if (peer === undefined || header.node === this.#options.node) return
    if (kind === kinds.bye) this.#sever(peer, "it has ended")
    // What went to its first connection cannot have been lost with another one.
    else if (header.from > 1 && peer.outbox.to !== header.from)
      this.#sever(peer, "it has lost its connection meanwhile")
  }

  /** A message for this node. */
  take(message: Buffer): void {
    const reader = new FrameReader(message)
    const header = readHeader(reader)
    if (header === undefined) return this.#faults.garbled("not readable")
    // Sent before we knew of each other's latest connection: what it belongs to has ended.
    if (header.to !== 0 && header.to !== this.#incarnation) return
    const peer = this.#sender(header)
    if (peer === undefined) return
    peer.outbox.acknowledged(header.taken)
    if (reader.left > 0) peer.outbox.took(message.length)
    while (reader.left > 0 && !peer.isGone) {
      const frame = reader.frame()
      if (frame === undefined) return this.#faults.garbled("cut short")
      this.#frame(peer, frame.u8(), frame, undefined)
    }
  }

  /** To be called again and again: ends what has been open for too long. */
  pulse(): void {
    for (const peer of this.#peers.values()) if (peer.pulse()) this.#remove(peer)
  }

  size(): number {
    let size = 0
    for (const { questions } of this.#peers.values()) size += questions.size
    return size
  }

  load(): NodeLoad {
    const load = { asked: 0, serving: 0, waiting: 0, incomplete: 0 }
    for (const { errands, inbox, outbox, questions } of this.#peers.values()) {
      load.asked += questions.size
      load.serving += errands.size
      load.waiting += outbox.waiting
      load.incomplete += inbox.size
    }
    const { ignored, unsent } = this.#faults
    return { ...load, ignored, unsent }
  }

  #notice(kind: number): Buffer {
    const writer = new FrameWriter(Buffer.allocUnsafe(512)).open(this.#options.node)
    writer.begin(kind).end()
    return writer.seal(this.#incarnation, 0, 0)
  }

  #peer(node: string): Peer {
    const peer = this.#peers.get(node) ?? this.#meet(node)
    peer.wake()
    return peer
  }

  #meet(node: string): Peer {
    const carrier: Carrier = {
      node: this.#options.node,
      buffers: this.#buffers,
      mostWaiting,
      incarnation: () => this.#incarnation,
      soon: (outbox) => {
        if (this.#dirty.push(outbox) === 1) setImmediate(() => this.#flush())
      },
      publish: (_, message) =>
        this.#options.publish(node, message, (outcome) => {
          this.#buffers.give(message)
          if (peer.isGone || (typeof outcome === "number" && outcome > 0)) return
          if (typeof outcome === "string") this.#faults.refused(this.#incarnation, outcome)
          this.#sever(peer, typeof outcome === "string" ? outcome : "it does not listen")
        })
    }
    const peer = new Peer({
      node,
      carrier,
      faults: this.#faults,
      held: this.#held,
      nextId: () => (this.#ids = (this.#ids + 1) >>> 0),
      pulseTime: this.#options.pulseTime
    })
    this.#peers.set(node, peer)
    return peer
  }

  /** The node that a message comes from; `undefined` when the message is to be ignored. */
  #sender({ from, node }: Header): Peer | undefined {
    const known = this.#peers.get(node)
    if (known === undefined) {
      if (this.#peers.size >= mostPeers) {
        this.#faults.garbled("from one node too many")
        return undefined
      }
    } else if (known.outbox.to > from) {
      // from a connection that it has given up
      return undefined
    } else if (known.outbox.to !== 0 && known.outbox.to < from) {
      this.#sever(known, "it has lost its connection meanwhile")
    }
    const peer = this.#peer(node)
    peer.outbox.to = from
    return peer
  }

  #frame(peer: Peer, kind: number, fields: FrameReader, long: Buffer | undefined): void {
    switch (kind) {
      case kinds.request:
        return peer.errands.begin(fields, long, this.#receive)
      case kinds.tell:
        return this.#hear(fields, long)
      case kinds.forget:
        return peer.errands.forget(fields.u32())
      case kinds.answer:
      case kinds.closed:
      case kinds.noAnswer:
      case kinds.refused:
        return peer.questions.answered(kind, fields, long)
      case kinds.piece: {
        const arrived = long === undefined ? peer.inbox.take(fields) : undefined
        if (arrived === undefined) return undefined
        const { kind: own, tail } = arrived
        if (tail === undefined) return this.#overflow(peer, own, arrived.fields)
        return this.#frame(peer, own, arrived.fields, tail)
      }
      case kinds.drop:
        return peer.inbox.drop(fields.u32())
      case kinds.over:
        return this.#sever(peer, "it has given us up")
      default:
        return this.#faults.garbled("of an unknown kind")
    }
  }

  /** A frame begins for which there is no room: what waits for it ends. */
  #overflow(peer: Peer, kind: number, fields: FrameReader): void {
    this.#faults.overflowed(peer.node)
    if (kind === kinds.request) peer.errands.refuse(fields.u32(), tooMuchHeld)
    else if (kind !== kinds.tell) peer.questions.unanswerable(fields.u32(), "its answer is too much to hold")
  }

  #hear(fields: FrameReader, long: Buffer | undefined): void {
    const told = readTell(fields, long)
    if (told === undefined) return this.#faults.garbled("no tell")
    this.#faults.guard(() => this.#receive?.tell(told.sids, told.event, told.body))
  }

  /** Nothing between a node and us holds any more, at this end. */
  #sever(peer: Peer, reason: string): void {
    this.#remove(peer)
    peer.giveUp(reason)
  }

  #remove(peer: Peer): void {
    peer.close()
    if (this.#peers.get(peer.node) === peer) this.#peers.delete(peer.node)
  }

  #flush(): void {
    const dirty = this.#dirty
    this.#dirty = []
    for (const outbox of dirty) outbox.flush()
  }
}
