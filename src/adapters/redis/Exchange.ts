import { Duration, Exit } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import {
  NodeAway,
  type NodeAsked,
  type NodeLoad,
  type NodeReceive
} from "../../application/ports/NodeLink.ts"
import { type Asked, LinkClosed, NoAnswer, NotSent } from "../../application/ports/Transport.ts"
import { badRequest, type Refusal, tooLarge, unavailable } from "../../domain/refusal.ts"
import {
  boundOfContent,
  bytesOf,
  type Content,
  fieldsOf,
  FrameReader,
  FrameWriter,
  type Header,
  kinds,
  readHeader
} from "./frames.ts"
import { Inbox } from "./Inbox.ts"
import { Buffers, type Carrier, mostFieldBytes, mostWholeBytes, Outbox, type Waiting } from "./Outbox.ts"
import {
  boundOfRequest,
  boundOfTell,
  contentOf,
  endingOf,
  readBody,
  readEnding,
  refused,
  writeRequest,
  writeTell
} from "./wire.ts"

/** Most bytes of bodies that wait for one node: some of the largest messages, and no whole memory. */
const mostWaiting = 64 * 1024 * 1024

/** How much later than the other node we give up a request, in milliseconds: it has the way back to go. */
const netTime = 3000

/** Nodes that are remembered at most: clusters are smaller, strangers may claim any name. */
const mostPeers = 1024

/** Pulses after which a node with which nothing is under way is forgotten: a minute. */
const idlePulses = 240

/** Pulses after which an idle node hears what has arrived from it: a second. */
const settlingPulses = 4

/** A request to another node. */
interface Question {
  readonly end: (asked: NodeAsked) => void
  readonly deadline: Duration.Duration
  /** The pulse with which we give it up ourselves. */
  readonly due: number
  readonly waiting: Waiting | undefined
}

/** Another node, from the first message to the day it goes: then all of this is thrown away. */
interface Peer {
  readonly node: string
  readonly outbox: Outbox
  readonly inbox: Inbox
  readonly asked: Map<number, Question>
  readonly serving: Map<number, () => void>
  idle: number
  gone: boolean
}

/** What an exchange needs of the world. */
export interface ExchangeOptions {
  readonly node: string
  /** Milliseconds between two calls of {@link Exchange.pulse}. */
  readonly pulseTime: number
  /** Publishes to one node; `done` hears how many have got it, or why Redis refused, or nothing when all is lost. */
  readonly publish: (node: string, message: Buffer, done: (outcome: number | string) => void) => void
  /** Something is wrong that an operator should know. */
  readonly warn: (message: string, fields: { readonly [name: string]: string }) => void
  /** A handler has thrown. */
  readonly defect: (error: unknown) => void
}

const nothing = () => {}

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
 * Everything between this node and the others but the connection itself: who is asked what, what is done for whom, and
 * in what order bytes go. It never waits; its owner tells it what happens.
 */
export class Exchange {
  readonly #options: ExchangeOptions
  readonly #peers = new Map<string, Peer>()
  readonly #buffers = new Buffers()
  #dirty: Array<Outbox> = []
  #receive: NodeReceive | undefined
  #incarnation = 0
  #away: string | undefined = "not connected yet"
  #ids = 0
  #pulses = 0
  #ignored = 0
  #unsent = 0
  #warned = false
  #refused = 0

  constructor(options: ExchangeOptions) {
    this.#options = options
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
    for (const peer of this.#peers.values()) {
      for (const [id, forget] of peer.serving) {
        peer.serving.delete(id)
        forget()
        this.#answer(peer, id, Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
      }
    }
  }

  request(
    node: string,
    sid: string,
    event: string,
    body: Body,
    deadline: Duration.Duration,
    end: (asked: NodeAsked) => void
  ): () => void {
    const notSent = (refusal: Refusal) => endSoon(end, Exit.fail(new NotSent({ refusal })))
    const written = contentOf(body)
    if (written._tag === "Failure") return notSent(written.failure)
    const content = written.success
    if (content.length > mostWaiting) return notSent(tooLarge(mostWaiting))
    if (this.#away !== undefined) return endSoon(end, Exit.fail(new NodeAway({ node, reason: this.#away })))
    const fields = boundOfRequest(sid, event)
    if (fields > mostFieldBytes) return notSent(badRequest("The name of the event is too long"))
    const peer = this.#peer(node)
    const id = this.#nextId(peer)
    const millis = Duration.toMillis(deadline)
    let waiting: Waiting | undefined
    const bound = fields + boundOfContent(content)
    if (bound <= mostWholeBytes && peer.outbox.isFree(sid)) {
      const writer = peer.outbox.writer(bound).begin(kinds.request)
      writeRequest(writer, id, millis, sid, event).content(content).end()
    } else {
      const head = fieldsOf(fields, kinds.request, (writer) => writeRequest(writer, id, millis, sid, event))
      waiting = peer.outbox.wait(sid, head, bytesOf(content))
      if (waiting === undefined) return notSent(unavailable(`Too much waits for the other node already`))
    }
    const due = this.#pulses + 1 + Math.ceil((millis + netTime) / this.#options.pulseTime)
    peer.asked.set(id, { end, deadline, due, waiting })
    return () => this.#forget(peer, id)
  }

  tell(node: string, sids: ReadonlyArray<string>, event: string, body: Body): void {
    const content = contentOf(body)
    if (this.#away !== undefined || content._tag === "Failure") {
      this.#unsent += sids.length
      return
    }
    if (sids.length > 0) this.#tell(this.#peer(node), sids, event, content.success)
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
      return this.#garbled("not readable")
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
    if (header === undefined) return this.#garbled("not readable")
    // Sent before we knew of each other's latest connection: what it belongs to has ended.
    if (header.to !== 0 && header.to !== this.#incarnation) return
    const peer = this.#sender(header)
    if (peer === undefined) return
    peer.outbox.acknowledged(header.taken)
    if (reader.left > 0) peer.outbox.took(message.length)
    while (reader.left > 0 && !peer.gone) {
      const frame = reader.frame()
      if (frame === undefined) return this.#garbled("cut short")
      this.#frame(peer, frame.u8(), frame, undefined)
    }
  }

  /** To be called again and again: ends what has been open for too long. */
  pulse(): void {
    this.#pulses++
    for (const peer of this.#peers.values()) {
      for (const [id, { deadline, due, end }] of peer.asked) {
        if (due > this.#pulses) continue
        this.#forget(peer, id)
        this.#run(() => end(Exit.fail(new NoAnswer({ after: deadline }))))
      }
      const busy = peer.asked.size + peer.serving.size + peer.inbox.size + peer.outbox.waiting > 0
      peer.idle = busy ? 0 : peer.idle + 1
      if (peer.idle === settlingPulses) peer.outbox.settle()
      if (peer.idle > idlePulses) this.#remove(peer)
    }
  }

  size(): number {
    let size = 0
    for (const { asked } of this.#peers.values()) size += asked.size
    return size
  }

  load(): NodeLoad {
    let serving = 0
    let waiting = 0
    let incomplete = 0
    for (const peer of this.#peers.values()) {
      serving += peer.serving.size
      waiting += peer.outbox.waiting
      incomplete += peer.inbox.size
    }
    return {
      asked: this.size(),
      serving,
      waiting,
      incomplete,
      ignored: this.#ignored,
      unsent: this.#unsent
    }
  }

  #notice(kind: number): Buffer {
    const writer = new FrameWriter(Buffer.allocUnsafe(512)).open(this.#options.node)
    writer.begin(kind).end()
    return writer.seal(this.#incarnation, 0, 0)
  }

  #peer(node: string): Peer {
    const peer = this.#peers.get(node) ?? this.#meet(node)
    peer.idle = 0
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
          if (peer.gone || (typeof outcome === "number" && outcome > 0)) return
          if (typeof outcome === "string") this.#refusedBy(outcome)
          this.#sever(peer, typeof outcome === "string" ? outcome : "it does not listen")
        })
    }
    const peer: Peer = {
      node,
      outbox: new Outbox(carrier),
      inbox: new Inbox(mostWaiting),
      asked: new Map(),
      serving: new Map(),
      idle: 0,
      gone: false
    }
    this.#peers.set(node, peer)
    return peer
  }

  /** The node that a message comes from; `undefined` when the message is to be ignored. */
  #sender({ from, node }: Header): Peer | undefined {
    const known = this.#peers.get(node)
    if (known === undefined) {
      if (this.#peers.size >= mostPeers) {
        this.#garbled("from one node too many")
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
        return this.#serve(peer, fields, long)
      case kinds.tell:
        return this.#hear(fields, long)
      case kinds.forget: {
        const id = fields.u32()
        const forget = peer.serving.get(id)
        if (forget === undefined) return peer.outbox.withdrawAll(answerLane(id))
        peer.serving.delete(id)
        return this.#run(forget)
      }
      case kinds.answer:
      case kinds.closed:
      case kinds.noAnswer:
      case kinds.refused:
        return this.#answered(peer, kind, fields, long)
      case kinds.piece: {
        const whole = long === undefined ? peer.inbox.take(fields) : undefined
        return whole && this.#frame(peer, whole.kind, whole.fields, whole.tail)
      }
      case kinds.drop:
        return peer.inbox.drop(fields.u32())
      case kinds.over:
        return this.#sever(peer, "it has given us up")
      default:
        return this.#garbled("of an unknown kind")
    }
  }

  #serve(peer: Peer, fields: FrameReader, long: Buffer | undefined): void {
    const id = fields.u32()
    const millis = fields.f64()
    const sid = fields.string()
    const event = fields.string()
    const body = readBody(fields, long)
    if (fields.failed || Number.isNaN(millis) || peer.serving.has(id)) return this.#garbled("no request")
    const receive = this.#receive
    if (receive === undefined) {
      return this.#answer(peer, id, Exit.fail(new LinkClosed({ reason: "the node does not serve" })))
    }
    const end = (asked: Asked) => {
      if (peer.serving.delete(id)) this.#answer(peer, id, asked)
    }
    // There before the handler is: it may end at once.
    peer.serving.set(id, nothing)
    this.#run(() => {
      const forget = receive.request(sid, event, body, Duration.millis(Math.max(0, millis)), end)
      if (peer.serving.has(id)) peer.serving.set(id, forget)
    })
  }

  #hear(fields: FrameReader, long: Buffer | undefined): void {
    const event = fields.string()
    const count = fields.u32()
    const sids: Array<string> = []
    while (sids.length < count && !fields.failed) sids.push(fields.string())
    const body = readBody(fields, long)
    if (fields.failed) return this.#garbled("no tell")
    this.#run(() => this.#receive?.tell(sids, event, body))
  }

  #answered(peer: Peer, kind: number, fields: FrameReader, long: Buffer | undefined): void {
    const id = fields.u32()
    const question = peer.asked.get(id)
    if (question === undefined) {
      this.#ignored++
      return
    }
    peer.asked.delete(id)
    const asked = readEnding(kind, fields, long)
    if (asked === undefined) this.#garbled("no answer")
    const reason = "its answer cannot be read"
    this.#run(() => question.end(asked ?? Exit.fail(new NodeAway({ node: peer.node, reason }))))
  }

  #answer(peer: Peer, id: number, asked: Asked): void {
    if (peer.gone) return
    const { bound, content, kind, write } = endingOf(id, asked)
    const most = bound + boundOfContent(content)
    if (most <= mostWholeBytes && peer.outbox.isFree("")) {
      const writer = peer.outbox.writer(most).begin(kind)
      write(writer)
      writer.content(content).end()
    } else if (!peer.outbox.wait(answerLane(id), fieldsOf(bound, kind, write), bytesOf(content))) {
      this.#unsent++
      const refusal = unavailable(`Too much waits for the other node already`)
      const instead = refused(id, refusal)
      const writer = peer.outbox.writer(instead.bound + boundOfContent(instead.content)).begin(instead.kind)
      instead.write(writer)
      writer.content(instead.content).end()
    }
  }

  #tell(peer: Peer, sids: ReadonlyArray<string>, event: string, content: Content): void {
    const fields = boundOfTell(sids, event)
    const bound = fields + boundOfContent(content)
    if (bound <= mostWholeBytes && sids.every((sid) => peer.outbox.isFree(sid))) {
      const writer = peer.outbox.writer(bound).begin(kinds.tell)
      writeTell(writer, sids, event).content(content).end()
      return
    }
    const [sid] = sids
    if (sid === undefined) return
    if (sids.length > 1) {
      // Each member has a lane of its own.
      const half = Math.ceil(sids.length / 2)
      this.#tell(peer, sids.slice(0, half), event, content)
      return this.#tell(peer, sids.slice(half), event, content)
    }
    const head =
      fields > mostFieldBytes
        ? undefined
        : fieldsOf(fields, kinds.tell, (writer) => writeTell(writer, sids, event))
    if (head === undefined || peer.outbox.wait(sid, head, bytesOf(content)) === undefined) this.#unsent++
  }

  /** An answer is not wanted any more. */
  #forget(peer: Peer, id: number): void {
    const question = peer.asked.get(id)
    if (question === undefined) return
    peer.asked.delete(id)
    const { waiting } = question
    if (waiting !== undefined && peer.outbox.withdraw(waiting) !== "sent") return
    peer.outbox.writer(8).begin(kinds.forget).u32(id).end()
  }

  /** Nothing between a node and us holds any more, at this end. */
  #sever(peer: Peer, reason: string): void {
    this.#remove(peer)
    for (const forget of peer.serving.values()) this.#run(forget)
    const asked = Exit.fail(new NodeAway({ node: peer.node, reason }))
    for (const { end } of peer.asked.values()) this.#run(() => end(asked))
  }

  #remove(peer: Peer): void {
    peer.gone = true
    peer.outbox.close()
    if (this.#peers.get(peer.node) === peer) this.#peers.delete(peer.node)
  }

  #nextId(peer: Peer): number {
    do this.#ids = (this.#ids + 1) >>> 0
    while (peer.asked.has(this.#ids))
    return this.#ids
  }

  #flush(): void {
    const dirty = this.#dirty
    this.#dirty = []
    for (const outbox of dirty) outbox.flush()
  }

  /** What others do with what they hear is none of the connection's business. */
  #run(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#options.defect(error)
    }
  }

  /** Redis does not let us publish: said once for each connection, since it would be said for every message. */
  #refusedBy(reason: string): void {
    if (this.#refused === this.#incarnation) return
    this.#refused = this.#incarnation
    this.#options.warn("Redis refused a message to another node", { reason })
  }

  /** Whatever else is on the channel is none of ours. One warning is enough; a flood of it must not flood the log. */
  #garbled(how: string): void {
    this.#ignored++
    if (this.#warned) return
    this.#warned = true
    this.#options.warn("a message on this node's channel is none of a node of this version", { how })
  }
}

const answerLane = (id: number): string => `answer ${id}`
