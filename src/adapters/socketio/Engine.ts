import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Server, type Socket as Connection, type Transport, transports } from "engine.io"
import { type RawData, WebSocketServer } from "ws"
import { messageRead } from "../node/relayMemory.ts"
import { Outgoing, TextFrame } from "./frames.ts"
import { envelopeBytes, strangerBytes } from "./limits.ts"
import { Patience } from "./patience.ts"
import { currentTurn } from "./turn.ts"
import { expectSignsOfLife, type Pinged } from "./signsOfLife.ts"

type Request = ConstructorParameters<typeof transports.websocket>[0]
type Packets = Parameters<Transport["send"]>[0]
type Packet = Packets[number]

/** The digit by which Engine.IO marks a message. */
const message = 0x34

/** What stands between the packets of a payload of polling. */
const separator = "\u001e"

/**
 * Packets that one payload of polling may hold: nobody else has a turn before the last of them is done. More than a
 * member may send at once as it is.
 */
const mostPackets = 16 * 1024

/**
 * Bytes of messages that one answer of polling takes, if there is more than one message: all that may wait for a slow
 * reader in one piece of text would take so long to make that others notice.
 */
const mostPayload = 1024 * 1024

/** How long whoever is closed has to agree, and to read what was sent before, in milliseconds. */
const closeTime = 1000

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
const shortMessage = 256 * 1024

/** Messages of one connection that are taken in one turn of the event loop: then the others have theirs. */
const fairShare = 32

/** A message as `ws` gives it. */
interface Frame {
  readonly data: Buffer
  readonly isBinary: boolean
}

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
  /** What its bytes pass. */
  readonly wire: Socket
  /** Takes short messages once the connection is on this transport. */
  listener: ((bytes: Buffer) => void) | undefined
  readonly #patience = new Patience()
  #trusted = false
  /** The latest turn in which something came, and how much. */
  #turn = -1
  #taken = 0
  /** What has come beyond the fair share of its turn. */
  #later: Array<Frame> | undefined
  /** For how many reasons nothing is read right now. */
  #holds = 0
  #isPaused = false
  constructor(request: Request) {
    super(request)
    this.#socket = request.websocket
    this.wire = request.socket
    this.#limitStranger(request)
    // Answered where they are read, and seen by nobody else.
    const control = () => {
      if (!this.#patience.spend()) this.onError("too many pings")
    }
    this.#socket?.on("ping", control)
    this.#socket?.on("pong", control)
    this.#socket?.removeAllListeners("message")
    this.#socket?.on("message", (data: RawData, isBinary: boolean) => {
      // Unless told otherwise it is one Buffer.
      if (!Buffer.isBuffer(data)) return
      const turn = currentTurn()
      if (this.#turn !== turn) {
        this.#turn = turn
        this.#taken = 0
      }
      this.#taken += 1
      if (this.#taken <= fairShare && this.#later === undefined) this.#take({ data, isBinary })
      else this.#defer({ data, isBinary })
    })
  }
  #defer(frame: Frame): void {
    if (this.#later === undefined) {
      this.#later = []
      this.#hold()
      setImmediate(this.#goOn)
    }
    this.#later.push(frame)
  }
  readonly #goOn = (): void => {
    const later = this.#later ?? []
    for (const frame of later.splice(0, fairShare)) this.#take(frame)
    if (later.length > 0) {
      setImmediate(this.#goOn)
      return
    }
    this.#later = undefined
    this.#release()
  }
  #take({ data, isBinary }: Frame): void {
    if (!isBinary && data[0] === message) {
      if (this.listener !== undefined && data.length <= shortMessage && this.readyState === "open") {
        this.listener(data.subarray(1))
      }
      // Engine.IO only hands the data of a message on.
      else this.onPacket({ type: "message", data: new TextFrame(data.subarray(1)) as unknown as string })
    } else this.onData(isBinary ? data : data.toString())
    messageRead(data.length)
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
  /** Takes messages of any allowed size from now on. */
  trust(): void {
    this.#trusted = true
  }
  /** What has arrived is held as long as its message is not complete, so it is counted as it arrives. */
  #limitStranger({ socket }: IncomingMessage): void {
    let arrived = 0
    const count = (chunk: Buffer) => {
      arrived += chunk.length
      if (this.#trusted) socket.off("data", count)
      else if (arrived > strangerBytes) this.onError("too much before being let in")
    }
    socket.on("data", count)
  }
  /** Reads nothing for some milliseconds: the network holds the sender back. */
  pause(millis: number): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#hold()
    setTimeout(() => {
      this.#isPaused = false
      this.#release()
    }, millis).unref()
  }
  #hold(): void {
    this.#holds += 1
    if (this.#holds === 1) this.#socket?.pause()
  }
  #release(): void {
    this.#holds -= 1
    if (this.#holds === 0) this.#socket?.resume()
  }
  /** What had come before the end counts. */
  override onClose(): void {
    for (const frame of this.#later?.splice(0) ?? []) this.#take(frame)
    super.onClose()
  }
  /** Whoever takes nothing is not waited for. */
  override doClose(done?: () => void): void {
    // What comes while the far end has not agreed yet is of no use.
    this.#socket?.removeAllListeners("message")
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

/** The parts of the transport of polling that are needed here, as Engine.IO has them. */
interface Polling {
  maxHttpBufferSize: number
  /** How long whoever does not ask for anything may take to hear that it is closed, in milliseconds. */
  closeTimeout: number
  send(packets: Packets): void
  onRequest(request: Request): void
  onData(payload: string): void
  onError(why: string): void
  once(event: "close", listener: () => void): unknown
  /** Puts back what is to be sent next, and first; missing until the connection is open. */
  putBack?: (packets: Packets) => void
  /** The request by which messages come, while one does. */
  readonly dataReq?: IncomingMessage | null
}

/** The packets for one answer; what is too much goes back to where it came from. */
const firstOf = (packets: Packets, putBack: Polling["putBack"]): Packets => {
  let bytes = 0
  const end = packets.findIndex((packet, index) => {
    bytes += outgoingOf(packet)?.size ?? 0
    return index > 0 && bytes > mostPayload
  })
  if (end === -1 || putBack === undefined) return packets
  putBack(packets.slice(end))
  return packets.slice(0, end)
}

const isPolling = (transport: object): transport is Polling => "maxHttpBufferSize" in transport

const packetsIn = (payload: string): number => {
  let count = 1
  for (let at = payload.indexOf(separator); at !== -1; at = payload.indexOf(separator, at + 1)) count += 1
  return count
}

/** The answers in which polling members take what waits for them, as long as they read. */
const responses = new WeakMap<object, ServerResponse>()

/** Polling takes messages as text, and no more at once than others can wait for. */
const textPolling = (request: Request): Transport => {
  // The form for scripts of other sites would hide how many packets there are; no client speaks it any more.
  delete request._query["j"]
  // Engine.IO declares it as a function, and calls it as one, too.
  const transport = (transports.polling as unknown as (request: Request) => Polling)(request)
  transport.closeTimeout = closeTime
  const onData = transport.onData.bind(transport)
  const onRequest = transport.onRequest.bind(transport)
  const send = transport.send.bind(transport)
  transport.send = (packets) =>
    send(
      firstOf(packets, transport.putBack).map((packet) =>
        handOver(packet, (outgoing) => ({ data: outgoing.text() }))
      )
    )
  transport.onData = (payload) => {
    if (packetsIn(payload) > mostPackets) transport.onError("too many packets at once")
    else onData(payload)
  }
  transport.onRequest = (next) => {
    if (next.method === "GET" && next.res !== undefined) responses.set(transport, next.res)
    onRequest(next)
  }
  transport.once("close", () => {
    const response = responses.get(transport)
    if (response === undefined || response.writableFinished) return
    // It outlives the session, with all that waits in it.
    setTimeout(() => {
      if (!response.writableFinished) response.destroy()
    }, closeTime).unref()
  })
  return transport as unknown as Transport
}

/** The connections that carry what a member sends and is sent at the moment. */
const wiresOf = (transport: object): ReadonlyArray<Socket> => {
  if (transport instanceof ByteWebSocket) return [transport.wire]
  const sending = isPolling(transport) ? transport.dataReq?.socket : undefined
  return [sending, responses.get(transport)?.socket].filter((wire) => wire != null)
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
  readonly #cutOff: number
  constructor({ allowedOrigins, maxMessageBytes, pingInterval, pingTimeout }: EngineOptions) {
    const cutOff = 2 * maxMessageBytes + envelopeBytes
    super({
      maxHttpBufferSize: maxMessageBytes,
      httpCompression: false,
      pingInterval,
      pingTimeout,
      wsEngine: class extends WebSocketServer {
        constructor(given: ConstructorParameters<typeof WebSocketServer>[0]) {
          const more = { maxPayload: cutOff, closeTimeout: closeTime }
          super({ ...given, ...more })
        }
      },
      ...(allowedOrigins.length > 0 && {
        cors: { origin: allowedOrigins.includes("*") ? true : [...allowedOrigins] }
      })
    })
    this.#cutOff = cutOff
    this.on("connection", (connection: Pinged & { writeBuffer: Packets }) => {
      const { transport } = connection
      expectSignsOfLife(connection, wiresOf)
      if (!isPolling(transport)) return
      transport.maxHttpBufferSize = strangerBytes
      // Whatever transport comes next takes it from there, be it by another answer or a WebSocket.
      transport.putBack = (packets) => connection.writeBuffer.unshift(...packets)
    })
  }
  /** Takes messages of any allowed size on a transport, whose member has been let in. */
  trust(transport: object): void {
    if (transport instanceof ByteWebSocket) transport.trust()
    else if (isPolling(transport)) transport.maxHttpBufferSize = this.#cutOff
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
export const waitingBytes = (transport: object): number =>
  transport instanceof ByteWebSocket ? transport.waiting : (responses.get(transport)?.writableLength ?? 0)
