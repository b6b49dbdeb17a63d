import { Cause, Effect, Option, Scope } from "effect"
import type { Socket as EngineSocket } from "engine.io"
import { AdmissionRejected, type Link, type TransportServer } from "../../../application/ports/Transport.ts"
import type { BufferLimit } from "../../../application/shared/BufferLimit.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { serverCloseReason } from "../closeReasons.ts"
import { makeHandshake } from "../gate.ts"
import { maxForeignNamespaceLength, namespace } from "../limits.ts"
import { TextFrame } from "./ByteWebSocket.ts"
import { type InboundPacket, type PacketLimits, parsePacket } from "./parsePacket.ts"
import { type RunFork, RelayLink } from "./RelayLink.ts"
import { type RelayTransport, relayTransportOf, type TransportListener } from "./RelayTransport.ts"
import { ViolationBudget } from "./ViolationBudget.ts"

/** Connect packets per connection: each costs an admission. */
const maxConnectAttempts = 20

/** Smaller parts of messages are not counted: they are frequent, and those of ten thousand connections are 40 MiB. */
const minIncompleteBytes = 4096

/** Milliseconds until a connection must send a connect packet. */
const connectTimeout = 45_000

const internalAdmissionError = new AdmissionRejected({ code: errorCodes.internalError, message: "Internal error" })

/** The state that the connections of one Server share. */
export interface RelayContext {
  readonly accept: Parameters<TransportServer["Service"]["serve"]>[0]
  readonly onBacklogChange: (link: Link) => void
  readonly limits: PacketLimits
  /** Limits the messages that have arrived in part. */
  readonly incompleteMessages: BufferLimit<RelayConnection>
  /** Runs effects for as long as the Server runs. */
  readonly run: (effect: Effect.Effect<void>) => void
  /** Runs request handlers, which their link interrupts. */
  readonly runFork: RunFork
  /** Sessions whose scope is open. */
  readonly links: Set<RelayLink>
  /** Connections without an admitted session, longest wait first. */
  readonly unauthenticated: Set<RelayConnection>
}

/** Ends a session and closes its scope. */
export const closeLink = ({ links }: RelayContext, link: RelayLink, reason: string) =>
  Effect.suspend(() => {
    links.delete(link)
    return Effect.andThen(link.markClosed(reason), link.closeScope)
  })

const textBytes = (data: unknown): Buffer | undefined => {
  if (data instanceof TextFrame) return data.bytes
  return typeof data === "string" ? Buffer.from(data) : undefined
}

/** Violations of the protocol that close a connection at once: the protocol has no reply for them. */
type Violation =
  | "ack_flood"
  | "connect_flood"
  | "disconnect_flood"
  | "duplicate_connect"
  | "invalid_namespace"
  | "invalid_packet"
  | "missing_attachment"
  | "not_admitted"
  | "ping_flood"
  | "unexpected_binary"

/** One connection of Engine.IO and its session in the namespace of A2C-SMCP. */
export class RelayConnection implements TransportListener {
  readonly #engineSocket: EngineSocket
  readonly #context: RelayContext
  #link: RelayLink | undefined
  #connectTimer: NodeJS.Timeout | undefined
  #connectAttempts = 0
  #isAdmitted = false
  #hasIncomplete = false
  readonly #violations = new ViolationBudget()
  /** Binary frames that belong to packets with a reply, and have not arrived. */
  #pendingAttachments = 0

  constructor(engineSocket: EngineSocket, context: RelayContext) {
    this.#engineSocket = engineSocket
    this.#context = context
    this.#awaitConnect()
    const attach = (transport: RelayTransport) => {
      transport.listener = this
      if (this.#isAdmitted) transport.liftSizeLimit()
    }
    attach(relayTransportOf(engineSocket))
    engineSocket.on("upgrade", attach)
    engineSocket.on("message", (data: unknown) => this.#onMessage(textBytes(data)))
    engineSocket.on("packet", ({ type }: { readonly type: string }) => {
      if (type !== "message" && !this.#violations.spend()) this.#onViolation("ping_flood")
    })
    engineSocket.once("close", (reason: string, cause: unknown) => {
      this.#stopAwaitingConnect()
      context.incompleteMessages.remove(this)
      this.#hasIncomplete = false
      this.#closeLink(serverCloseReason(reason, cause))
    })
  }

  onShortMessage(bytes: Buffer): void {
    this.#onMessage(bytes)
  }

  onBytesReceived(): void {
    const hadIncomplete = this.#hasIncomplete
    this.#hasIncomplete = this.incompleteBytes() > 0
    if (hadIncomplete || this.#hasIncomplete) this.#context.incompleteMessages.update(this)
  }

  onBytesSent(): void {
    this.#link?.onBytesSent()
  }

  incompleteBytes(): number {
    if (this.#engineSocket.readyState !== "open") return 0
    const bytes = relayTransportOf(this.#engineSocket).incompleteBytes()
    return bytes < minIncompleteBytes ? 0 : bytes
  }

  receivedBytes(): number {
    return relayTransportOf(this.#engineSocket).receivedBytes()
  }

  /** Closes a connection that sends a message too slowly. */
  closeIncomplete(detail: string): void {
    const { remoteAddress } = this.#engineSocket
    const reason = "total_incomplete_exceeded"
    this.#context.run(Effect.logWarning("connection closed", { sid: this.#link?.id, remoteAddress, reason, detail }))
    this.#closeLink(reason)
    this.#engineSocket.close(true)
  }

  closeUnauthenticated(): void {
    this.#engineSocket.close(true)
  }

  /** Admits a member in the scope of its session, or sends the reason for the rejection. */
  #admit(link: RelayLink, auth: unknown): Effect.Effect<void> {
    const { accept, links } = this.#context
    return Effect.gen({ self: this }, function* () {
      links.add(link)
      const accepting = Scope.provide(accept(link, makeHandshake(this.#engineSocket, auth)), link.scope)
      // Admission stops when the member leaves: its scope is closed by then.
      const onMessage = yield* Effect.raceFirst(accepting, Effect.as(link.closed, undefined)).pipe(
        Effect.onError(() => closeLink(this.#context, link, "admission_rejected"))
      )
      if (onMessage === undefined || !links.has(link)) return yield* link.closeScope
      if (link === this.#link) {
        this.#isAdmitted = true
        relayTransportOf(this.#engineSocket).liftSizeLimit()
        this.#engineSocket.send(`0${namespace},${JSON.stringify({ sid: link.id })}`)
      }
      link.startReceiving(onMessage)
    }).pipe(
      Effect.catchCause((cause) =>
        Effect.gen({ self: this }, function* () {
          const error = Cause.findErrorOption(cause)
          if (Option.isNone(error)) yield* Effect.logError("admission failed", { sid: link.id }, cause)
          this.#reject(
            link,
            Option.getOrElse(error, () => internalAdmissionError)
          )
        })
      )
    )
  }

  #reject(link: RelayLink, { code, message, reason }: AdmissionRejected): void {
    if (link !== this.#link) return
    this.#link = undefined
    this.#engineSocket.send(`4${namespace},${JSON.stringify({ message, data: { code, message, reason } })}`)
    this.#awaitConnect()
  }

  #awaitConnect(): void {
    this.#stopAwaitingConnect()
    this.#connectTimer = setTimeout(() => this.closeUnauthenticated(), connectTimeout)
    this.#connectTimer.unref()
    this.#context.unauthenticated.add(this)
  }

  #stopAwaitingConnect(): void {
    clearTimeout(this.#connectTimer)
    this.#context.unauthenticated.delete(this)
  }

  #closeLink(reason: string): void {
    const link = this.#link
    this.#link = undefined
    if (link !== undefined) this.#context.run(closeLink(this.#context, link, reason))
  }

  #onViolation(violation: Violation): void {
    this.#pendingAttachments = 0
    this.#closeLink(violation)
    this.#engineSocket.close(true)
  }

  /** Handles the bytes of a text; `undefined` stands for a binary frame. */
  #onMessage(bytes: Buffer | undefined): void {
    const violation = bytes === undefined ? this.#onBinary() : this.#onText(bytes)
    if (violation !== undefined) this.#onViolation(violation)
  }

  #onBinary(): Violation | undefined {
    this.#pendingAttachments -= 1
    return this.#pendingAttachments < 0 ? "unexpected_binary" : undefined
  }

  #onText(bytes: Buffer): Violation | undefined {
    if (this.#pendingAttachments > 0) return "missing_attachment"
    const packet = parsePacket(bytes, this.#context.limits)
    if (packet === undefined) return "invalid_packet"
    return packet.namespace === namespace ? this.#onPacket(packet) : this.#onForeignPacket(packet)
  }

  #onForeignPacket({ namespace: name, type }: InboundPacket): Violation | undefined {
    if (type !== "connect" || name.length > maxForeignNamespaceLength) return "invalid_namespace"
    if (!this.#violations.spend()) return "connect_flood"
    this.#engineSocket.send(`4${name === "/" ? "" : `${name},`}{"message":"Invalid namespace"}`)
    return undefined
  }

  #onPacket(packet: InboundPacket): Violation | undefined {
    const link = this.#link
    switch (packet.type) {
      case "connect":
        this.#connectAttempts += 1
        if (link !== undefined) return "duplicate_connect"
        if (this.#connectAttempts > maxConnectAttempts) return "connect_flood"
        this.#stopAwaitingConnect()
        this.#link = new RelayLink(this.#engineSocket, this.#context.runFork, this.#context.onBacklogChange)
        this.#context.run(this.#admit(this.#link, packet.auth))
        return undefined
      case "disconnect":
        // A disconnect without a session does not extend the connect timeout.
        if (link === undefined) return this.#violations.spend() ? undefined : "disconnect_flood"
        this.#closeLink("client_disconnect")
        this.#awaitConnect()
        return undefined
      case "event":
      case "ack":
        this.#pendingAttachments = packet.attachments
        switch (link?.onPacket(packet)) {
          case "accepted":
            return undefined
          case "unsolicited_ack":
            return this.#violations.spend() ? undefined : "ack_flood"
          case "not_admitted":
          case undefined:
            return "not_admitted"
        }
    }
  }
}
