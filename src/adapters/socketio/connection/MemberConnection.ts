import { Cause, Effect, Exit, Option, Scope } from "effect"
import type { AdmissionRejected, Handshake } from "../../../application/ports/Transport.ts"
import { maxForeignNamespaceLength } from "../limits.ts"
import { admissionFailed, closeLink } from "../../bytes/MessageLink.ts"
import type { ConnectionContext } from "./ConnectionContext.ts"
import { type InboundPacket, type MessagePacket, parsePacket } from "./parsePacket.ts"
import type { LinkConnection, OutboundMessage, ServerLink } from "./OutboundMessage.ts"
import type { Traffic } from "./Traffic.ts"
import { ConnectionBudget } from "./ConnectionBudget.ts"

/** Connect packets per connection: each costs an admission. */
const maxConnectAttempts = 20

/** Smaller parts of messages are not counted: they are frequent, and those of ten thousand connections are 40 MiB. */
const minIncompleteBytes = 4096

/** Violations of the protocol that close a connection at once: the protocol has no reply for them. */
export type Violation =
  | "ack_flood"
  | "connect_flood"
  | "disconnect_flood"
  | "duplicate_connect"
  | "invalid_namespace"
  | "invalid_packet"
  | "missing_attachment"
  | "not_admitted"
  | "ping_flood"
  | "too_many_packets"
  | "unauthenticated_bytes_exceeded"
  | "unexpected_binary"

/** What an adapter does with the outcome of an admission. */
export interface AdmissionReplies {
  /** Runs before the member's messages are handled. */
  readonly onAdmitted: () => void
  readonly onRejected: (error: AdmissionRejected) => void
  /** The member left before. */
  readonly onLeft: () => void
}

/** One connection of Engine.IO and its session in the namespace of A2C-SMCP. */
export abstract class MemberConnection implements LinkConnection {
  protected readonly context: ConnectionContext
  protected readonly violations = new ConnectionBudget()
  /** True once messages of any allowed size are accepted. */
  isAdmitted = false
  /** Binary frames that belong to packets with a reply, and have not arrived. */
  protected pendingAttachments = 0
  #link: ServerLink | undefined
  #hasSession = false
  #connectAttempts = 0
  #hasIncomplete = false

  constructor(context: ConnectionContext) {
    this.context = context
    this.#awaitConnect()
  }

  abstract readonly traffic: Traffic
  /** Sends a message of the session, at once or through a queue. */
  abstract write(message: OutboundMessage, link: ServerLink): void
  abstract closeConnection(discard: boolean): void
  abstract readonly remoteAddress: string
  protected abstract readonly isOpen: boolean
  /** Sends a packet of Socket.IO. */
  protected abstract sendText(packet: string): void
  /** The handshake of the request that opened the connection. */
  protected abstract handshake(auth: unknown): Handshake

  incompleteBytes(): number {
    if (!this.isOpen) return 0
    const bytes = this.traffic.incompleteBytes()
    return bytes < minIncompleteBytes ? 0 : bytes
  }

  /** Counts a packet of Engine.IO that is no message. */
  protected onControlPacket(): void {
    if (!this.violations.spend()) this.onViolation("ping_flood")
  }

  /** Ends the session with its connection. */
  protected onClosed(reason: string): void {
    this.context.unauthenticated.stop(this)
    this.context.incompleteMessages.remove(this)
    this.#hasIncomplete = false
    this.leave(reason)
  }

  onBytesReceived(): void {
    const hadIncomplete = this.#hasIncomplete
    this.#hasIncomplete = this.incompleteBytes() > 0
    if (hadIncomplete || this.#hasIncomplete) this.context.incompleteMessages.update(this)
  }

  onBacklogChange(): void {
    this.#link?.reportBacklog()
  }

  /** Closes a connection that sends a message too slowly. */
  closeIncomplete(detail: string): void {
    const { remoteAddress } = this
    const reason = "total_incomplete_exceeded"
    this.context.run(Effect.logWarning("connection closed", { sid: this.#link?.id, remoteAddress, reason, detail }))
    this.leave(reason)
    this.close()
  }

  close(): void {
    this.closeConnection(true)
  }

  /** Ends the session. */
  protected leave(reason: string): void {
    const link = this.#link
    this.#link = undefined
    this.#hasSession = false
    if (link !== undefined) this.context.run(closeLink(this.context, link, reason))
  }

  /** Ends the session of a link whose connection may stay open. */
  protected leaveNamespace(link: ServerLink, reason: string): void {
    if (link !== this.#link) return
    this.leave(reason)
    if (this.isOpen) this.#awaitConnect()
  }

  protected onViolation(violation: Violation): void {
    this.pendingAttachments = 0
    this.leave(violation)
    this.close()
  }

  /** Admits a member in the scope of its session, and passes its messages on; or reports the rejection. */
  protected admit(link: ServerLink, auth: unknown, replies: AdmissionReplies): void {
    const { accept, links } = this.context
    this.#link = link
    links.add(link)
    const accepting = Effect.suspend(() => accept(link, this.handshake(auth)))
    link.run(Scope.provide(accepting, link.scope), (exit) => {
      if (Exit.isFailure(exit)) this.#onRejected(link, exit.cause, replies)
      else if (link !== this.#link || !links.has(link)) {
        replies.onLeft()
        this.context.run(link.closeScope)
      } else {
        this.isAdmitted = true
        replies.onAdmitted()
        link.startReceiving(exit.value)
      }
    })
  }

  /** Ends a session that was not admitted. Its end may be the reason: it interrupts the admission. */
  #onRejected(link: ServerLink, cause: Cause.Cause<AdmissionRejected>, { onLeft, onRejected }: AdmissionReplies): void {
    const { context } = this
    context.run(
      Effect.gen({ self: this }, function* () {
        yield* closeLink(context, link, "admission_rejected")
        if (link !== this.#link) return onLeft()
        const error = Cause.findErrorOption(cause)
        if (Option.isNone(error)) yield* Effect.logError("admission failed", { sid: link.id }, cause)
        this.#link = undefined
        this.#hasSession = false
        onRejected(Option.getOrElse(error, () => admissionFailed))
        this.#awaitConnect()
      })
    )
  }

  #awaitConnect(): void {
    if (this.context.isExclusive) this.context.unauthenticated.start(this)
  }

  /** Handles a packet of the namespace. */
  protected abstract onInboundPacket(packet: InboundPacket): Violation | undefined

  /** Handles the bytes of a text; `undefined` stands for a binary frame. */
  protected onData(bytes: Buffer | undefined): void {
    const violation = bytes === undefined ? this.#onBinary() : this.#onText(bytes)
    if (violation !== undefined) this.onViolation(violation)
  }

  #onBinary(): Violation | undefined {
    this.pendingAttachments -= 1
    return this.pendingAttachments < 0 ? "unexpected_binary" : undefined
  }

  #onText(bytes: Buffer): Violation | undefined {
    if (this.pendingAttachments > 0) return "missing_attachment"
    const packet = parsePacket(bytes, this.context.limits)
    if (packet === undefined) return "invalid_packet"
    return packet.namespace === this.context.namespace ? this.onInboundPacket(packet) : this.#onForeignPacket(packet)
  }

  /** Handles a packet of a namespace that does not exist. */
  #onForeignPacket({ namespace: name, type }: InboundPacket): Violation | undefined {
    if (type !== "connect" || name.length > maxForeignNamespaceLength) return "invalid_namespace"
    if (!this.violations.spend()) return "connect_flood"
    this.sendText(`4${name === "/" ? "" : `${name},`}{"message":"Invalid namespace"}`)
    return undefined
  }

  /** Checks a connect packet; the caller begins the admission. */
  protected checkConnect(): Violation | undefined {
    this.#connectAttempts += 1
    if (this.#hasSession) return "duplicate_connect"
    if (this.#connectAttempts > maxConnectAttempts) return "connect_flood"
    this.context.unauthenticated.stop(this)
    this.#hasSession = true
    return undefined
  }

  protected onDisconnect(): Violation | undefined {
    // A disconnect without a session does not extend the connect timeout.
    if (!this.#hasSession) return this.violations.spend() ? undefined : "disconnect_flood"
    this.leave("client_disconnect")
    this.#awaitConnect()
    return undefined
  }

  protected onMessagePacket(packet: MessagePacket): Violation | undefined {
    this.pendingAttachments = packet.attachments
    switch (this.#link?.onPacket(packet)) {
      case "accepted":
        return undefined
      case "unsolicited_ack":
        return this.violations.spend() ? undefined : "ack_flood"
      case "not_admitted":
      case undefined:
        return "not_admitted"
    }
  }
}
