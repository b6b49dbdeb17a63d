import type { IncomingMessage } from "node:http"
import { Server, type Socket as Connection, type Transport, transports } from "engine.io"
import { type RawData, WebSocketServer } from "ws"
import { Outgoing, TextFrame } from "./frames.ts"
import { envelopeBytes } from "./limits.ts"

type Request = ConstructorParameters<typeof transports.websocket>[0]
type Packets = Parameters<Transport["send"]>[0]
type Packet = Packets[number]

/** The digit by which Engine.IO marks a message. */
const message = 0x34

/** The message of a packet, which stands where Engine.IO keeps a string. */
const outgoingOf = ({ data }: { readonly data?: unknown }): Outgoing | undefined =>
  data instanceof Outgoing ? data : undefined

/** A packet whose message is said to Engine.IO as what this transport takes. */
const handOver = (packet: Packet, as: (outgoing: Outgoing) => Partial<Packet>): Packet => {
  const outgoing = outgoingOf(packet)
  if (outgoing === undefined) return packet
  outgoing.taken(outgoing.size)
  return { ...packet, ...as(outgoing) }
}

/** Longer messages go the way of Engine.IO, for which they are a sign of life. */
const shortMessage = 64 * 1024

/** What `ws` has for frames that are made already, as Engine.IO itself uses it. */
interface Sender {
  readonly sendFrame: (frame: ReadonlyArray<Buffer>, done: (error?: Error | null) => void) => void
}

/**
 * WebSocket whose messages come and go as bytes. Short ones do not pass the events and buffers of Engine.IO, which
 * would cost more than all the rest of passing them on.
 */
class ByteWebSocket extends transports.websocket {
  readonly #socket: Request["websocket"]
  /** Takes short messages once the connection is on this transport. */
  listener: ((bytes: Buffer) => void) | undefined
  constructor(request: Request) {
    super(request)
    this.#socket = request.websocket
    this.#socket?.removeAllListeners("message")
    this.#socket?.on("message", (data: RawData, isBinary: boolean) => {
      // Unless told otherwise it is one Buffer.
      if (!Buffer.isBuffer(data)) return
      if (!isBinary && data[0] === message) {
        if (this.listener !== undefined && data.length <= shortMessage && this.readyState === "open") {
          this.listener(data.subarray(1))
          return
        }
        // Engine.IO only hands the data of a message on.
        this.onPacket({ type: "message", data: new TextFrame(data.subarray(1)) as unknown as string })
      } else this.onData(isBinary ? data : data.toString())
    })
  }
  /** Sends a message at once; false when it has to wait for its turn. */
  sendNow(outgoing: Outgoing): boolean {
    // The types of `ws` do not know it.
    const { _sender: sender } = (this.#socket ?? {}) as { readonly _sender?: Sender }
    if (sender === undefined || !this.writable || this.#socket?.readyState !== 1) return false
    sender.sendFrame(outgoing.frame(), this.#sent)
    return true
  }
  readonly #sent = (error?: Error | null): void => {
    if (error) this.onError("write error", error.stack)
  }
  /** Bytes that the network has not taken. */
  get waiting(): number {
    return this.#socket?.bufferedAmount ?? 0
  }
  /** Reads nothing for some milliseconds: the network holds the sender back. */
  pause(millis: number): void {
    const socket = this.#socket
    if (socket === undefined || socket.isPaused) return
    socket.pause()
    setTimeout(() => socket.resume(), millis).unref()
  }
  /** Whoever takes nothing is not waited for. */
  override doClose(done?: () => void): void {
    if (this.waiting > 0) this.#socket?.terminate()
    super.doClose(done)
  }
  override send(packets: Packets): void {
    super.send(
      packets.map((packet) =>
        handOver(packet, (outgoing) => ({
          options: { compress: false, wsPreEncodedFrame: outgoing.frame() }
        }))
      )
    )
  }
}

/** Polling takes messages as text. */
const textPolling = (request: Request): Transport => {
  // Engine.IO declares it as a function, and calls it as one, too.
  const transport: Transport = (transports.polling as unknown as (request: Request) => Transport)(request)
  const send = transport.send.bind(transport)
  transport.send = (packets) =>
    send(packets.map((packet) => handOver(packet, (outgoing) => ({ data: outgoing.text() }))))
  return transport
}

/** What an engine is made of. */
export interface EngineOptions {
  readonly maxMessageBytes: number
  readonly allowedOrigins: ReadonlyArray<string>
  readonly pingInterval: number
  readonly pingTimeout: number
}

/**
 * The server of Engine.IO, on whose connections the messages are {@link Outgoing}, and {@link TextFrame} where they
 * come over WebSocket. It still reads messages somewhat over the limit, so that their senders can be told.
 */
export class Engine extends Server {
  constructor({ allowedOrigins, maxMessageBytes, pingInterval, pingTimeout }: EngineOptions) {
    const cutOff = 2 * maxMessageBytes + envelopeBytes
    super({
      maxHttpBufferSize: maxMessageBytes,
      httpCompression: false,
      pingInterval,
      pingTimeout,
      wsEngine: class extends WebSocketServer {
        constructor(given: ConstructorParameters<typeof WebSocketServer>[0]) {
          super({ ...given, maxPayload: cutOff })
        }
      },
      ...(allowedOrigins.length > 0 && {
        cors: { origin: allowedOrigins.includes("*") ? true : [...allowedOrigins] }
      })
    })
    this.on("connection", ({ transport }: { transport: { name: string; maxHttpBufferSize?: number } }) => {
      if (transport.name === "polling") transport.maxHttpBufferSize = cutOff
    })
  }
  protected override createTransport(name: string, request: IncomingMessage): Transport {
    return name === "websocket" ? new ByteWebSocket(request as Request) : textPolling(request as Request)
  }
}

/** Gives short messages of a connection straight to a listener, for as long as it lives. */
export const hearShort = (connection: Connection, listener: (bytes: Buffer) => void): void => {
  const attach = (transport: unknown) => {
    if (transport instanceof ByteWebSocket) transport.listener = listener
  }
  attach(connection.transport)
  connection.on("upgrade", attach)
}

/** Sends a message on a connection: at once where nothing is before it, else when its turn comes. */
export const send = (connection: Connection, outgoing: Outgoing): void => {
  const { readyState, transport } = connection
  const alone = readyState === "open" && isIdle(connection)
  if (alone && transport instanceof ByteWebSocket && transport.sendNow(outgoing))
    outgoing.taken(outgoing.size)
  // Engine.IO only hands the data of a message to its transports, which are ours.
  else connection.send(outgoing as unknown as string)
}

/** Does nothing wait in the buffer of Engine.IO, which its types hide? */
const isIdle = (connection: object): boolean =>
  "writeBuffer" in connection && Array.isArray(connection.writeBuffer) && connection.writeBuffer.length === 0

/** Holds a sender back, where its transport can. */
export const pauseReading = (transport: unknown, millis: number): void => {
  if (transport instanceof ByteWebSocket) transport.pause(millis)
}

/** Bytes that the transport of a connection has taken and the network has not. */
export const waitingBytes = (transport: unknown): number =>
  transport instanceof ByteWebSocket ? transport.waiting : 0
