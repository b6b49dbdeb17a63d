import type { Socket as Connection } from "engine.io"
import type { AdmissionRefused } from "../../application/ports/Transport.ts"
import { hearShort } from "./Engine.ts"
import { TextFrame } from "./frames.ts"
import { namespace } from "./limits.ts"
import { type Incoming, type ReadLimits, readPacket } from "./packets.ts"
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
  /** Binary frames still to come that belong to packets which have been answered. */
  #unwanted = 0

  constructor(connection: Connection, door: Door) {
    this.connection = connection
    this.#door = door
    this.#await()
    connection.on("message", (data: unknown) => this.#message(bytesOf(data)))
    hearShort(connection, (bytes) => this.#message(bytes))
    connection.once("close", (reason: string) => {
      clearTimeout(this.#timer)
      this.#leave(reason)
    })
  }

  /** The member is let in. */
  welcome(socket: ServerSocket): void {
    if (socket === this.#socket) this.#say(`0${namespace},${JSON.stringify({ sid: socket.id })}`)
  }

  /** The member is not let in, and may try again. */
  refuse(socket: ServerSocket, { code, message, reason }: AdmissionRefused): void {
    if (socket !== this.#socket) return
    this.#socket = undefined
    const data = { code, message, ...(reason !== undefined && { reason }) }
    this.#say(`4${namespace},${JSON.stringify({ message, data })}`)
    this.#await()
  }

  #await(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.connection.close(true), connectTime)
    this.#timer.unref()
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
      if (packet.type !== "connect") return false
      this.#say(`4${packet.namespace === "/" ? "" : `${packet.namespace},`}{"message":"Invalid namespace"}`)
      return true
    }
    const socket = this.#socket
    switch (packet.type) {
      case "connect":
        this.#sessions += 1
        if (socket !== undefined || this.#sessions > mostSessions) return false
        clearTimeout(this.#timer)
        this.#socket = new ServerSocket(this.connection, this.#door.run)
        this.#door.admit(this, this.#socket, packet.auth)
        return true
      case "disconnect":
        this.#leave("left by the member")
        this.#await()
        return true
      case "event":
      case "ack":
        this.#unwanted = packet.attachments
        return socket?.take(packet) ?? false
    }
  }
}
