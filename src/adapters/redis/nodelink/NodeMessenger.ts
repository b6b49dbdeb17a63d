import { Exit, Result } from "effect"
import {
  type NodeLink,
  type NodeMessageHandler,
  type NodeReplyExit,
  NodeUnreachable
} from "../../../application/ports/NodeLink.ts"
import { SendFailed } from "../../../application/ports/Transport.ts"
import { type ProtocolError, payloadTooLarge, unavailable } from "../../../domain/model/ProtocolError.ts"
import type { DirectAddress, DirectConnections } from "./direct/DirectConnections.ts"
import { LinkDiagnostics, type LinkDiagnosticsOptions } from "./LinkDiagnostics.ts"
import { MessageReader, MessageWriter, frameKinds, decodeHeader } from "./messageFormat.ts"
import { ByteBudget } from "./ByteBudget.ts"
import { maxReassemblyBytes } from "./FrameReassembler.ts"
import { BufferPool, type LinkContext, maxQueuedBytes } from "./SendQueue.ts"
import { makePeer, type Peer } from "./Peer.ts"
import {
  addressFrame,
  decodeAddress,
  decodeNotificationFrame,
  redirectedFrame,
  serializeBody
} from "./frameContents.ts"

/** Maximum of peers. Clusters are smaller, but other Redis clients may send any node name. */
const maxPeers = 1024

/** Ticks without a direct connection to a node after the loss of one: a minute. Each loss fails its requests. */
const directPauseTicks = 240

/** Queued bodies, and incomplete bodies, of all nodes share the memory of this many nodes: half a gigabyte each. */
const fullShares = 8

interface NodeMessengerOptions extends LinkDiagnosticsOptions {
  readonly node: string
  /** Limits of the bytes that are queued for all other nodes, and that have arrived in part from them. */
  readonly maxAllQueuedBytes?: number
  readonly maxAllIncompleteBytes?: number
  /** Milliseconds between two calls of {@link NodeMessenger.tick}. */
  readonly tickMillis: number
  /**
   * Publishes to one node. `onPublished` receives the number of receivers, or the error of Redis. It is not called when
   * the connection is lost.
   */
  readonly publish: (node: string, message: Buffer, onPublished: (outcome: number | string) => void) => void
  /** Direct connections between the nodes, and the address of this one; only published messages without. */
  readonly direct?: { readonly address: DirectAddress; readonly connections: DirectConnections }
}

const reassemblyBudgetExceeded = unavailable("The other node's reassembly budget is exhausted")

/** Replies in a microtask: the caller gets its cancel function before the reply. */
const replyLater = (onReply: (exit: NodeReplyExit) => void, exit: NodeReplyExit): (() => void) => {
  let isAwaited = true
  queueMicrotask(() => {
    if (isAwaited) onReply(exit)
  })
  return () => {
    isAwaited = false
  }
}

type Link = NodeLink["Service"]

/** Exchanges requests, replies and notifications with the other nodes. Its owner reports connection events to it. */
export class NodeMessenger {
  readonly #publish: NodeMessengerOptions["publish"]
  readonly #direct: NodeMessengerOptions["direct"]
  readonly #diagnostics: LinkDiagnostics
  readonly #peers = new Map<string, Peer>()
  readonly #context: LinkContext
  /** The tick until which a node gets no direct connection. */
  readonly #directPauses = new Map<string, number>()
  /** The addresses of nodes that the cluster has not lost. */
  readonly #addresses = new Map<string, DirectAddress>()
  #ticks = 0
  #handler: NodeMessageHandler | undefined
  #disconnectReason: string | undefined = "not connected yet"

  constructor(options: NodeMessengerOptions) {
    const { maxAllIncompleteBytes = Number.POSITIVE_INFINITY, maxAllQueuedBytes = Number.POSITIVE_INFINITY } = options
    this.#publish = options.publish
    this.#direct = options.direct
    this.#diagnostics = new LinkDiagnostics(options)
    let lastId = 0
    this.#context = {
      node: options.node,
      generation: 0,
      bufferPool: new BufferPool(),
      diagnostics: this.#diagnostics,
      sendBudget: new ByteBudget(Math.min(fullShares * maxQueuedBytes, maxAllQueuedBytes)),
      reassemblyBudget: new ByteBudget(
        Math.min(fullShares * maxReassemblyBytes(maxQueuedBytes), maxAllIncompleteBytes)
      ),
      nextId: () => (lastId = (lastId + 1) >>> 0),
      tickMillis: options.tickMillis
    }
  }

  /** Starts a new generation of connections. Returns the broadcast for the other nodes. */
  onConnected(): Buffer {
    this.#context.generation++
    this.#disconnectReason = undefined
    return this.#controlMessage(frameKinds.connected)
  }

  onDisconnected(reason: string): void {
    this.#disconnectReason = reason
    for (const peer of this.#peers.values()) this.#failPeer(peer, reason)
    this.#direct?.connections.dropAll()
    this.#addresses.clear()
  }

  /** Returns the broadcast of a node that shuts down. */
  leavingNotice(): Buffer {
    return this.#controlMessage(frameKinds.leaving)
  }

  /** Sets the handler of requests of other nodes. Without one their pending requests end with LinkClosed. */
  setHandler(handler: NodeMessageHandler | undefined): void {
    this.#handler = handler
    if (handler !== undefined) return
    for (const { inbound } of this.#peers.values()) inbound.rejectAll()
  }

  readonly startRequest: Link["startRequest"] = (node, to, event, body, timeout, onReply, extend) => {
    const rejectWith = (error: ProtocolError) => replyLater(onReply, Exit.fail(new SendFailed({ error })))
    const serialized = serializeBody(body)
    if (Result.isFailure(serialized)) return rejectWith(serialized.failure)
    const content = serialized.success
    if (content.length > maxQueuedBytes) return rejectWith(payloadTooLarge(maxQueuedBytes))
    if (this.#disconnectReason !== undefined)
      return replyLater(onReply, Exit.fail(new NodeUnreachable({ node, reason: this.#disconnectReason })))
    const sent = this.#activePeer(node).outbound.startRequest({ to, event, content, timeout }, onReply, extend)
    return Result.isSuccess(sent) ? sent.success : rejectWith(sent.failure)
  }

  readonly notify: Link["notify"] = (node, sids, event, body) => {
    const content = serializeBody(body)
    if (this.#disconnectReason !== undefined || Result.isFailure(content)) this.#diagnostics.unsent += sids.length
    else if (sids.length > 0) this.#diagnostics.unsent += this.#activePeer(node).notify(sids, event, content.success)
  }

  /** Ends the requests of a lost node, and resets the link in case the node still runs. */
  readonly onNodeLost: Link["onNodeLost"] = (node) => {
    this.#addresses.delete(node)
    const peer = this.#peers.get(node)
    if (peer === undefined) return
    this.#resetPeer(peer, "the node left the cluster")
  }

  /** Handles a message of the broadcast channel. */
  onBroadcast(message: Buffer): void {
    const reader = new MessageReader(message)
    const header = decodeHeader(reader)
    const kind = reader.nextFrame()?.u8()
    if (header === undefined || (kind !== frameKinds.connected && kind !== frameKinds.leaving))
      return this.#diagnostics.onInvalidMessage("invalid_header")
    if (kind === frameKinds.leaving) this.#addresses.delete(header.node)
    const peer = this.#peers.get(header.node)
    if (peer === undefined || header.node === this.#context.node) return
    if (kind === frameKinds.leaving) this.#failPeer(peer, "the node has shut down")
    // Messages to the first connection of a node cannot have been lost with an earlier one.
    else if (header.senderGeneration > 1 && header.senderGeneration > peer.sendQueue.receiverGeneration)
      this.#failPeer(peer, "the node reconnected")
  }

  /** Handles a message of the channel of this node. */
  onMessage(message: Buffer): void {
    const reader = new MessageReader(message)
    const header = decodeHeader(reader)
    if (header === undefined) return this.#diagnostics.onInvalidMessage("invalid_header")
    // The message is for an earlier connection of this node; its requests have ended.
    if (header.receiverGeneration !== 0 && header.receiverGeneration !== this.#context.generation) return
    const peer = this.#senderOf(header.node, header.senderGeneration)
    if (peer === undefined) return
    peer.sendQueue.onAcknowledged(header.acknowledgedBytes)
    if (reader.remaining > 0) peer.sendQueue.onReceived(message.length)
    while (reader.remaining > 0 && !peer.isClosed()) {
      const frame = reader.nextFrame()
      if (frame === undefined) return this.#diagnostics.onInvalidMessage("truncated_frame")
      this.#onFrame(peer, frame.u8(), frame, undefined)
    }
  }

  tick(): void {
    this.#ticks += 1
    for (const [node, end] of this.#directPauses) if (end <= this.#ticks) this.#endDirectPause(node)
    for (const peer of this.#peers.values()) if (peer.tick()) this.#removePeer(peer)
  }

  readonly load: Link["load"] = () => {
    const load = { outboundRequests: 0, inboundRequests: 0, queuedBytes: 0, incompleteBodies: 0, directNodes: 0 }
    for (const { inbound, isDirect, outbound, reassembler, sendQueue } of this.#peers.values()) {
      load.directNodes += isDirect() ? 1 : 0
      load.outboundRequests += outbound.size()
      load.inboundRequests += inbound.size()
      load.queuedBytes += sendQueue.queuedBytes
      load.incompleteBodies += reassembler.size
    }
    const { ignored, unsent } = this.#diagnostics
    return { ...load, ignored, unsent }
  }

  #controlMessage(kind: number): Buffer {
    const writer = new MessageWriter(Buffer.allocUnsafe(512)).beginMessage(this.#context.node)
    writer.beginFrame(kind).endFrame()
    return writer.finishMessage(this.#context.generation, 0, 0)
  }

  #activePeer(node: string): Peer {
    const peer = this.#peers.get(node) ?? this.#addPeer(node)
    peer.markActive()
    return peer
  }

  #addPeer(node: string): Peer {
    const peer: Peer = makePeer(node, this.#context, (message) =>
      this.#publish(node, message, (outcome) => {
        this.#context.bufferPool.release(message)
        if (peer.isClosed() || (typeof outcome === "number" && outcome > 0)) return
        if (typeof outcome === "string") this.#diagnostics.onPublishRejected(this.#context.generation, outcome)
        this.#failPeer(peer, typeof outcome === "string" ? outcome : "the node is not subscribed")
      })
    )
    this.#peers.set(node, peer)
    if (this.#direct !== undefined) {
      peer.sendQueue.sendNow(addressFrame(this.#direct.address))
      this.#connectDirectly(peer, this.#direct.connections)
    }
    return peer
  }

  #onAddress(peer: Peer, fields: MessageReader): void {
    const address = decodeAddress(fields)
    if (address === undefined) return this.#diagnostics.onInvalidMessage("invalid_address")
    if (this.#direct === undefined || this.#addresses.size >= maxPeers) return
    this.#addresses.set(peer.node, address)
    this.#connectDirectly(peer, this.#direct.connections)
  }

  /** Connects directly to a peer that has carried messages through Redis during its pause. */
  #endDirectPause(node: string): void {
    this.#directPauses.delete(node)
    const peer = this.#peers.get(node)
    if (peer !== undefined && this.#direct !== undefined) this.#connectDirectly(peer, this.#direct.connections)
  }

  /** Opens a direct connection to a peer whose address is known. Without one, messages are published as before. */
  #connectDirectly(peer: Peer, connections: DirectConnections): void {
    const address = this.#addresses.get(peer.node)
    if (address === undefined || peer.isConnecting() || this.#directPauses.has(peer.node)) return
    const close = connections.open(address, {
      onOpen: ({ id, send }) =>
        peer.redirect(redirectedFrame(id), (message) => send(message, () => this.#context.bufferPool.release(message))),
      onLost: (reason) => {
        if (!peer.isDirect()) return this.#diagnostics.onDirectFailed(peer.node, reason)
        this.#directPauses.set(peer.node, this.#ticks + directPauseTicks)
        this.#resetPeer(peer, `the direct connection was lost (${reason})`)
      }
    })
    peer.connect(close)
  }

  /** The sender of a message; `undefined` when the message is ignored. */
  #senderOf(node: string, senderGeneration: number): Peer | undefined {
    const known = this.#peers.get(node)
    if (known === undefined) {
      if (this.#peers.size >= maxPeers) {
        this.#diagnostics.onInvalidMessage("too_many_nodes")
        return undefined
      }
    } else if (known.sendQueue.receiverGeneration > senderGeneration) {
      // The message is from an earlier connection of the peer.
      return undefined
    } else if (known.sendQueue.receiverGeneration !== 0 && known.sendQueue.receiverGeneration < senderGeneration) {
      this.#failPeer(known, "the node reconnected")
    }
    const peer = this.#activePeer(node)
    peer.sendQueue.receiverGeneration = senderGeneration
    return peer
  }

  #onFrame(peer: Peer, kind: number, fields: MessageReader, reassembled: Buffer | undefined): void {
    switch (kind) {
      case frameKinds.request:
        return peer.inbound.onRequest(fields, reassembled, this.#handler)
      case frameKinds.notify:
        return this.#onNotification(fields, reassembled)
      case frameKinds.cancel:
        return peer.inbound.onCancel(fields.u32())
      case frameKinds.reply:
      case frameKinds.linkClosed:
      case frameKinds.timedOut:
      case frameKinds.rejected:
        return peer.outbound.onReplyFrame(kind, fields, reassembled)
      case frameKinds.fragment: {
        const arrived = reassembled === undefined ? peer.reassembler.onFragment(fields) : undefined
        if (arrived === undefined) return undefined
        const { kind: own, tail } = arrived
        if (tail === undefined) return this.#onOverflow(peer, own, arrived.fields)
        return this.#onFrame(peer, own, arrived.fields, tail)
      }
      case frameKinds.discard:
        return peer.reassembler.discard(fields.u32())
      case frameKinds.reset:
        return this.#failPeer(peer, "the node reset the link")
      case frameKinds.address:
        return this.#onAddress(peer, fields)
      case frameKinds.redirected:
        return this.#direct?.connections.startReading(peer.node, fields.u32())
      default:
        return this.#diagnostics.onInvalidMessage("unknown_frame_kind")
    }
  }

  /** Ends the request of a frame that exceeds the reassembly budget. */
  #onOverflow(peer: Peer, kind: number, fields: MessageReader): void {
    this.#diagnostics.onOverflow(peer.node)
    if (kind === frameKinds.request) peer.inbound.rejectRequest(fields.u32(), reassemblyBudgetExceeded)
    else if (kind !== frameKinds.notify)
      peer.outbound.failRequest(fields.u32(), "its reply exceeds the reassembly budget")
  }

  #onNotification(fields: MessageReader, reassembled: Buffer | undefined): void {
    const notification = decodeNotificationFrame(fields, reassembled)
    if (notification === undefined) return this.#diagnostics.onInvalidMessage("invalid_notification")
    this.#diagnostics.runGuarded(() => this.#handler?.notify(notification.sids, notification.event, notification.body))
  }

  /** Fails a peer at both ends. */
  #resetPeer(peer: Peer, reason: string): void {
    this.#failPeer(peer, reason)
    if (this.#disconnectReason === undefined) this.#publish(peer.node, this.#controlMessage(frameKinds.reset), () => {})
  }

  #failPeer(peer: Peer, reason: string): void {
    this.#removePeer(peer)
    this.#direct?.connections.drop(peer.node)
    peer.inbound.cancelAll()
    peer.outbound.failAll(reason)
  }

  #removePeer(peer: Peer): void {
    peer.close()
    if (this.#peers.get(peer.node) === peer) this.#peers.delete(peer.node)
  }
}
