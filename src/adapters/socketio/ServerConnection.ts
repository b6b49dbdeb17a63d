import type { Socket as Connection } from "engine.io"
import type { AdmissionRefused } from "../../application/ports/Transport.ts"
import { hearShort } from "./Engine.ts"
import { TextFrame } from "./frames.ts"
import { mostForeignName, namespace } from "./limits.ts"
import { type Incoming, type ReadLimits, readPacket } from "./packets.ts"
import { Patience } from "./patience.ts"
import { type Run, ServerSocket } from "./ServerSocket.ts"

/** How often one connection may ask for our namespace: every time is work for whoever admits. */
const mostSessions = 20

/** How long a connection may take to ask for our namespace, in milliseconds. */
const connectTime = 45_000

/** What the owner of the connections does when a member asks to be let in, and when it goes. */
export interface Door {
  readonly run: Run
  readonly limits: ReadLimits
  /** Ends with {@link ServerConnection.welcome} or {@link ServerConnection.refuse}. */
  readonly admit: (connection: ServerConnection, socket: ServerSocket, auth: unknown) => void
  readonly gone: (socket: ServerSocket, reason: string) => void
  /** Messages of any allowed size may come from now on. */
  readonly trust: (transport: object) => void
  /** The connections that have not asked to be let in, whoever waits longest first. */
  readonly strangers: Set<ServerConnection>
}

const bytesOf = (data: unknown): Buffer | undefined => {
  if (data instanceof TextFrame) return data.bytes
  return typeof data === "string" ? Buffer.from(data) : undefined
}

/**
 * One connection of Engine.IO and the session in our namespace on it, as Socket.IO's protocol wants it. Whoever does
 * not keep to the protocol loses the connection: there is no way to answer.
 */
export class ServerConnection {
  readonly connection: Connection
  readonly #door: Door
  #socket: ServerSocket | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #sessions = 0
  #trusted = false
  readonly #patience = new Patience()
  /** Binary frames still to come that belong to packets which have been answered. */
  #unwanted = 0

  constructor(connection: Connection, door: Door) {
    this.connection = connection
    this.#door = door
    this.#await()
    connection.on("message", (data: unknown) => this.#message(bytesOf(data)))
    hearShort(connection, (bytes) => this.#message(bytes))
    connection.on("packet", ({ type }: { readonly type: string }) => {
      if (type !== "message" && !this.#patience.spend()) this.#fault()
    })
    connection.on("upgrade", (transport: object) => {
      if (this.#trusted) door.trust(transport)
    })
    connection.once("close", (reason: string) => {
      this.#stopWaiting()
      this.#leave(reason)
    })
  }

  /** The member is let in. */
  welcome(socket: ServerSocket): void {
    if (socket !== this.#socket) return
    this.#trusted = true
    this.#door.trust(this.connection.transport)
    this.#say(`0${namespace},${JSON.stringify({ sid: socket.id })}`)
  }

  /** The member is not let in, and may try again. */
  refuse(socket: ServerSocket, { code, message, reason }: AdmissionRefused): void {
    if (socket !== this.#socket) return
    this.#socket = undefined
    const data = { code, message, ...(reason !== undefined && { reason }) }
    this.#say(`4${namespace},${JSON.stringify({ message, data })}`)
    this.#await()
  }

  /** Ends a connection that has not asked to be let in. */
  turnAway(): void {
    this.connection.close(true)
  }

  #await(): void {
    this.#stopWaiting()
    this.#timer = setTimeout(() => this.turnAway(), connectTime)
    this.#timer.unref()
    this.#door.strangers.add(this)
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer)
    this.#door.strangers.delete(this)
  }

  #say(text: string): void {
    this.connection.send(text)
  }

  #leave(reason: string): void {
    const socket = this.#socket
    this.#socket = undefined
    if (socket !== undefined) this.#door.gone(socket, reason)
  }

  /** Bytes of a text; anything else is binary. */
  #message(bytes: Buffer | undefined): void {
    if (bytes === undefined) {
      this.#unwanted -= 1
      if (this.#unwanted < 0) this.#fault()
      return
    }
    const packet = this.#unwanted > 0 ? undefined : readPacket(bytes, this.#door.limits)
    if (packet === undefined || !this.#take(packet)) this.#fault()
  }

  #fault(): void {
    this.#unwanted = 0
    this.#leave("parse error")
    this.connection.close(true)
  }

  #take(packet: Incoming): boolean {
    if (packet.namespace !== namespace) {
      if (packet.type !== "connect" || packet.namespace.length > mostForeignName) return false
      if (!this.#patience.spend()) return false
      this.#say(`4${packet.namespace === "/" ? "" : `${packet.namespace},`}{"message":"Invalid namespace"}`)
      return true
    }
    const socket = this.#socket
    switch (packet.type) {
      case "connect":
        this.#sessions += 1
        if (socket !== undefined || this.#sessions > mostSessions) return false
        this.#stopWaiting()
        this.#socket = new ServerSocket(this.connection, this.#door.run)
        this.#door.admit(this, this.#socket, packet.auth)
        return true
      case "disconnect":
        // Nobody gets more time by leaving what nobody is in.
        if (socket === undefined) return this.#patience.spend()
        this.#leave("left by the member")
        this.#await()
        return true
      case "event":
      case "ack":
        this.#unwanted = packet.attachments
        switch (socket?.take(packet)) {
          case "taken":
            return true
          case "unasked":
            return this.#patience.spend()
          case "too early":
          case undefined:
            return false
        }
    }
  }
}
