import type { Socket as EngineSocket } from "engine.io"
import type { AdmissionRejected } from "../../../application/ports/Transport.ts"
import { listenForShortMessages } from "./RelayEngine.ts"
import { TextFrame } from "./OutboundMessage.ts"
import { maxForeignNamespaceLength, namespace } from "../limits.ts"
import { type InboundPacket, type PacketLimits, parsePacket } from "./parsePacket.ts"
import { ViolationBudget } from "./ViolationBudget.ts"
import { type RunFork, RelayLink } from "./RelayLink.ts"

/** How often one connection may ask for our namespace: every time is work for whoever admits. */
const maxConnectAttempts = 20

/** How long a connection may take to ask for our namespace, in milliseconds. */
const connectTimeout = 45_000

/** What the owner of the connections does when a member asks to be let in, and when it goes. */
export interface ConnectionHandler {
  readonly runFork: RunFork
  readonly limits: PacketLimits
  /** Ends with {@link RelayConnection.accept} or {@link RelayConnection.reject}. */
  readonly admit: (connection: RelayConnection, link: RelayLink, auth: unknown) => void
  readonly onLinkClosed: (link: RelayLink, reason: string) => void
  /** Messages of any allowed size may come from now on. */
  readonly liftSizeLimit: (transport: object) => void
  /** The connections that have not asked to be let in, whoever waits longest first. */
  readonly unauthenticated: Set<RelayConnection>
}

const textBytes = (data: unknown): Buffer | undefined => {
  if (data instanceof TextFrame) return data.bytes
  return typeof data === "string" ? Buffer.from(data) : undefined
}

/**
 * One connection of Engine.IO and the session in our namespace on it, as Socket.IO's protocol wants it. Whoever does
 * not keep to the protocol loses the connection: there is no way to answer.
 */
export class RelayConnection {
  readonly engineSocket: EngineSocket
  readonly #handler: ConnectionHandler
  #link: RelayLink | undefined
  #connectTimer: ReturnType<typeof setTimeout> | undefined
  #connectAttempts = 0
  #isAdmitted = false
  readonly #violations = new ViolationBudget()
  /** Binary frames still to come that belong to packets which have been answered. */
  #pendingAttachments = 0

  constructor(engineSocket: EngineSocket, handler: ConnectionHandler) {
    this.engineSocket = engineSocket
    this.#handler = handler
    this.#awaitConnect()
    engineSocket.on("message", (data: unknown) => this.#onMessage(textBytes(data)))
    listenForShortMessages(engineSocket, (bytes) => this.#onMessage(bytes))
    engineSocket.on("packet", ({ type }: { readonly type: string }) => {
      if (type !== "message" && !this.#violations.spend()) this.#onViolation()
    })
    engineSocket.on("upgrade", (transport: object) => {
      if (this.#isAdmitted) handler.liftSizeLimit(transport)
    })
    engineSocket.once("close", (reason: string) => {
      this.#stopAwaitingConnect()
      this.#closeLink(reason)
    })
  }

  /** The member is let in. */
  accept(link: RelayLink): void {
    if (link !== this.#link) return
    this.#isAdmitted = true
    this.#handler.liftSizeLimit(this.engineSocket.transport)
    this.#send(`0${namespace},${JSON.stringify({ sid: link.id })}`)
  }

  /** The member is not let in, and may try again. */
  reject(link: RelayLink, { code, message, reason }: AdmissionRejected): void {
    if (link !== this.#link) return
    this.#link = undefined
    const data = { code, message, ...(reason !== undefined && { reason }) }
    this.#send(`4${namespace},${JSON.stringify({ message, data })}`)
    this.#awaitConnect()
  }

  /** Ends a connection that has not asked to be let in. */
  closeUnauthenticated(): void {
    this.engineSocket.close(true)
  }

  #awaitConnect(): void {
    this.#stopAwaitingConnect()
    this.#connectTimer = setTimeout(() => this.closeUnauthenticated(), connectTimeout)
    this.#connectTimer.unref()
    this.#handler.unauthenticated.add(this)
  }

  #stopAwaitingConnect(): void {
    clearTimeout(this.#connectTimer)
    this.#handler.unauthenticated.delete(this)
  }

  #send(text: string): void {
    this.engineSocket.send(text)
  }

  #closeLink(reason: string): void {
    const link = this.#link
    this.#link = undefined
    if (link !== undefined) this.#handler.onLinkClosed(link, reason)
  }

  /** Bytes of a text; anything else is binary. */
  #onMessage(bytes: Buffer | undefined): void {
    if (bytes === undefined) {
      this.#pendingAttachments -= 1
      if (this.#pendingAttachments < 0) this.#onViolation()
      return
    }
    const packet = this.#pendingAttachments > 0 ? undefined : parsePacket(bytes, this.#handler.limits)
    if (packet === undefined || !this.#onPacket(packet)) this.#onViolation()
  }

  #onViolation(): void {
    this.#pendingAttachments = 0
    this.#closeLink("parse error")
    this.engineSocket.close(true)
  }

  #onPacket(packet: InboundPacket): boolean {
    if (packet.namespace !== namespace) {
      if (packet.type !== "connect" || packet.namespace.length > maxForeignNamespaceLength) return false
      if (!this.#violations.spend()) return false
      this.#send(`4${packet.namespace === "/" ? "" : `${packet.namespace},`}{"message":"Invalid namespace"}`)
      return true
    }
    const link = this.#link
    switch (packet.type) {
      case "connect":
        this.#connectAttempts += 1
        if (link !== undefined || this.#connectAttempts > maxConnectAttempts) return false
        this.#stopAwaitingConnect()
        this.#link = new RelayLink(this.engineSocket, this.#handler.runFork)
        this.#handler.admit(this, this.#link, packet.auth)
        return true
      case "disconnect":
        // Nobody gets more time by leaving what nobody is in.
        if (link === undefined) return this.#violations.spend()
        this.#closeLink("left by the member")
        this.#awaitConnect()
        return true
      case "event":
      case "ack":
        this.#pendingAttachments = packet.attachments
        switch (link?.onPacket(packet)) {
          case "taken":
            return true
          case "unasked":
            return this.#violations.spend()
          case "too early":
          case undefined:
            return false
        }
    }
  }
}
