import { randomBytes } from "node:crypto"
import { connect, createServer, type Server, type Socket } from "node:net"
import * as tls from "node:tls"
import { errorMessage } from "../../../../domain/errorMessage.ts"
import { countRelayedBytes } from "../../../process/gcTuning.ts"
import { decodeGreeting, encodeGreeting, secretBytes } from "./greeting.ts"
import { makeMessageReader } from "./messageReader.ts"

/** Where a node takes direct connections, and the secret that another node proves itself with. */
export interface DirectAddress {
  readonly host: string
  readonly port: number
  readonly secret: Buffer
}

/** A direct connection to another node, which carries messages to it. */
interface DirectConnection {
  readonly id: number
  /** `onSent` is not called when the connection is lost. */
  readonly send: (message: Buffer, onSent: () => void) => void
}

interface DirectConnectionEvents {
  readonly onOpen: (connection: DirectConnection) => void
  /** The connection is lost, or could not be opened. Not called after a close by this node. */
  readonly onLost: (reason: string) => void
}

/** The reply to a greeting, and to each check. */
const reply = Buffer.of(1)

/** A message of no bytes asks for a reply: a network that drops all packets does not close a connection. */
const check = Buffer.alloc(4)
const defaultCheckMillis = 1000
const maxUnanswered = 5

/** Milliseconds for the connection, the greeting and its reply. */
const openTimeout = 2000

/** Connections in all, and those whose greeting has not arrived. */
const maxConnections = 1024
const maxUnknown = 64

const keepAliveMillis = 10_000

const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMillis }

/** With TLS, the secret is the key of both ends instead of certificates. */
const tlsOptions = { minVersion: "TLSv1.3", ciphers: "TLS_AES_128_GCM_SHA256" } as const
const keyName = "a2c"

/** An accepted connection, whose messages wait until its node has announced it. */
interface Accepted {
  readonly id: number
  readonly socket: Socket
}

/** Accepts and opens direct connections of one node. `secure` encrypts them. */
export class DirectConnections {
  readonly server: Server
  readonly #node: string
  readonly #secret = randomBytes(secretBytes)
  readonly #secure: boolean
  readonly #onMessage: (message: Buffer) => void
  readonly #checkMillis: number
  readonly #unknown = new Set<Socket>()
  readonly #accepted = new Map<string, Accepted>()
  readonly #opened = new Set<Socket>()
  #lastId = 0

  constructor(options: {
    readonly node: string
    readonly secure: boolean
    readonly onMessage: (message: Buffer) => void
    /** Milliseconds between two checks of an opened connection, of which five may be without a reply; a second by default. */
    readonly checkMillis?: number
  }) {
    this.#node = options.node
    this.#secure = options.secure
    this.#onMessage = options.onMessage
    this.#checkMillis = options.checkMillis ?? defaultCheckMillis
    const accept = (socket: Socket) => this.#accept(socket)
    this.server = options.secure
      ? tls.createServer(
          { ...socketOptions, ...tlsOptions, handshakeTimeout: openTimeout, pskCallback: () => this.#secret },
          accept
        )
      : createServer(socketOptions, accept)
    this.server.maxConnections = maxConnections
    this.server.on("tlsClientError", () => undefined)
  }

  /** The address of this node for the others, at the host and port by which they reach it. */
  addressAt(host: string, port: number): DirectAddress {
    return { host, port, secret: this.#secret }
  }

  /** Reads the messages of an accepted connection: those that its node sent before have arrived. */
  startReading(node: string, id: number): void {
    const accepted = this.#accepted.get(node)
    if (accepted?.id === id) accepted.socket.resume()
  }

  /** Closes the connection that a node has opened. */
  drop(node: string): void {
    this.#accepted.get(node)?.socket.destroy()
    this.#accepted.delete(node)
  }

  /** Closes the connections that other nodes have opened. */
  dropAll(): void {
    for (const node of this.#accepted.keys()) this.drop(node)
  }

  /** Opens a connection to another node. The returned function closes it. */
  open(address: DirectAddress, { onLost, onOpen }: DirectConnectionEvents): () => void {
    const { host, port, secret } = address
    const id = (this.#lastId = (this.#lastId + 1) >>> 0)
    const greet = () => void socket.write(encodeGreeting(secret, id, this.#node))
    const socket: Socket = this.#secure
      ? tls.connect(
          {
            host,
            port,
            ...tlsOptions,
            pskCallback: () => ({ identity: keyName, psk: secret }),
            checkServerIdentity: () => undefined
          },
          greet
        )
      : connect({ host, port, ...socketOptions }, greet)
    if (this.#secure) socket.setNoDelay(true).setKeepAlive(true, keepAliveMillis)
    this.#opened.add(socket)
    let reason = "the connection was closed"
    let isClosed = false
    const silent = () => void socket.destroy(new Error("it does not answer"))
    let timer = setTimeout(silent, openTimeout)
    let unanswered = 0
    const checkPeer = () => {
      unanswered += 1
      if (unanswered > maxUnanswered) silent()
      else socket.write(check)
    }
    socket.on("error", (error) => (reason = errorMessage(error)))
    socket.once("data", (first: Buffer) => {
      if (!first.equals(reply)) return socket.destroy(new Error("it does not answer as a Server"))
      clearTimeout(timer)
      timer = setInterval(checkPeer, this.#checkMillis)
      socket.on("data", () => (unanswered = 0))
      return onOpen({ id, send })
    })
    socket.once("close", () => {
      clearTimeout(timer)
      this.#opened.delete(socket)
      if (!isClosed) onLost(reason)
    })
    const send: DirectConnection["send"] = (message, onSent) => {
      const length = Buffer.allocUnsafe(4)
      length.writeUInt32BE(message.length)
      socket.cork()
      socket.write(length)
      socket.write(message, (error) => {
        if (error == null) onSent()
      })
      socket.uncork()
    }
    return () => {
      isClosed = true
      socket.destroy()
    }
  }

  /** Closes all connections. */
  close(): void {
    this.server.close()
    for (const socket of [...this.#unknown, ...this.#opened]) socket.destroy()
    this.dropAll()
  }

  #accept(socket: Socket): void {
    // The close of a connection reports its failure to the other end.
    socket.on("error", () => undefined)
    if (this.#unknown.size >= maxUnknown) return void socket.destroy()
    this.#unknown.add(socket)
    const timer = setTimeout(() => socket.destroy(), openTimeout)
    let received = Buffer.alloc(0)
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const greeting = decodeGreeting(received, this.#secret)
      if (greeting === "invalid") return void socket.destroy()
      if (greeting === undefined) return
      socket.off("data", onData)
      forget()
      this.#welcome(socket, greeting)
    }
    const forget = () => {
      clearTimeout(timer)
      this.#unknown.delete(socket)
    }
    socket.on("data", onData)
    socket.once("close", forget)
  }

  #welcome(socket: Socket, { id, node }: { readonly id: number; readonly node: string }): void {
    this.drop(node)
    const accepted = { id, socket }
    this.#accepted.set(node, accepted)
    const read = makeMessageReader(
      (message) => {
        // A message may be the end of its connection.
        if (this.#accepted.get(node) !== accepted) return
        this.#onMessage(message)
        countRelayedBytes(message.length)
      },
      () => void socket.write(reply)
    )
    socket.pause()
    socket.on("data", (chunk: Buffer) => {
      if (!read(chunk)) socket.destroy()
    })
    socket.once("close", () => {
      if (this.#accepted.get(node) === accepted) this.#accepted.delete(node)
    })
    socket.write(reply)
  }
}
