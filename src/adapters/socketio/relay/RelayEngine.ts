import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Server, type Socket as EngineSocket, type Transport, transports } from "engine.io"
import { type RawData, WebSocketServer } from "ws"
import { countRelayedBytes } from "../../process/gcTuning.ts"
import { OutboundMessage, TextFrame } from "./OutboundMessage.ts"
import { maxEnvelopeBytes, maxUnauthenticatedBytes } from "../limits.ts"
import { ViolationBudget } from "./ViolationBudget.ts"
import { eventLoopTick } from "./turn.ts"
import { extendKeepaliveOnProgress, type EngineSocketInternals } from "./keepalive.ts"

type EngineRequest = ConstructorParameters<typeof transports.websocket>[0]
type EnginePackets = Parameters<Transport["send"]>[0]
type EnginePacket = EnginePackets[number]

/** The digit by which Engine.IO marks a message. */
const messageTypeByte = 0x34

/** What stands between the packets of a payload of polling. */
const packetSeparator = "\u001e"

/**
 * Packets that one payload of polling may hold: nobody else has a turn before the last of them is done. More than a
 * member may send at once as it is.
 */
const maxPacketsPerPayload = 16 * 1024

/**
 * Bytes of messages that one answer of polling takes, if there is more than one message: all that may wait for a slow
 * reader in one piece of text would take so long to make that others notice.
 */
const maxPollResponseBytes = 1024 * 1024

/** How long whoever is closed has to agree, and to read what was sent before, in milliseconds. */
const closeTimeout = 1000

/** The message of a packet, which stands where Engine.IO keeps a string. */
const outboundMessageOf = ({ data }: { readonly data?: unknown }): OutboundMessage | undefined =>
  data instanceof OutboundMessage ? data : undefined

/** A packet whose message is said to Engine.IO as what this transport takes. */
const encodeForTransport = (
  packet: EnginePacket,
  encode: (outgoing: OutboundMessage) => Partial<EnginePacket>
): EnginePacket => {
  const message = outboundMessageOf(packet)
  if (message === undefined) return packet
  message.onDequeued(message.size)
  return { ...packet, ...encode(message) }
}

/** Longer messages go the way of Engine.IO, for which they are a sign of life. */
const maxFastPathBytes = 256 * 1024

/** Messages of one connection that are taken in one turn of the event loop: then the others have theirs. */
const maxMessagesPerTick = 32

/** A message as `ws` gives it. */
interface ReceivedMessage {
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
  readonly #webSocket: EngineRequest["websocket"]
  /** What its bytes pass. */
  readonly netSocket: Socket
  /** Takes short messages once the connection is on this transport. */
  onShortMessage: ((bytes: Buffer) => void) | undefined
  readonly #controlFrameBudget = new ViolationBudget()
  #isAdmitted = false
  /** The latest turn in which something came, and how much. */
  #tick = -1
  #takenThisTick = 0
  /** What has come beyond the fair share of its turn. */
  #deferred: Array<ReceivedMessage> | undefined
  /** For how many reasons nothing is read right now. */
  #pauseCount = 0
  #isPaused = false
  constructor(request: EngineRequest) {
    super(request)
    this.#webSocket = request.websocket
    this.netSocket = request.socket
    this.#limitUnauthenticated(request)
    // Answered where they are read, and seen by nobody else.
    const onControlFrame = () => {
      if (!this.#controlFrameBudget.spend()) this.onError("too many pings")
    }
    this.#webSocket?.on("ping", onControlFrame)
    this.#webSocket?.on("pong", onControlFrame)
    this.#webSocket?.removeAllListeners("message")
    this.#webSocket?.on("message", (data: RawData, isBinary: boolean) => {
      // Unless told otherwise it is one Buffer.
      if (!Buffer.isBuffer(data)) return
      const tick = eventLoopTick()
      if (this.#tick !== tick) {
        this.#tick = tick
        this.#takenThisTick = 0
      }
      this.#takenThisTick += 1
      if (this.#takenThisTick <= maxMessagesPerTick && this.#deferred === undefined)
        this.#onMessage({ data, isBinary })
      else this.#defer({ data, isBinary })
    })
  }
  #defer(message: ReceivedMessage): void {
    if (this.#deferred === undefined) {
      this.#deferred = []
      this.#pauseReading()
      setImmediate(this.#drainDeferred)
    }
    this.#deferred.push(message)
  }
  readonly #drainDeferred = (): void => {
    const later = this.#deferred ?? []
    for (const frame of later.splice(0, maxMessagesPerTick)) this.#onMessage(frame)
    if (later.length > 0) {
      setImmediate(this.#drainDeferred)
      return
    }
    this.#deferred = undefined
    this.#resumeReading()
  }
  #onMessage({ data, isBinary }: ReceivedMessage): void {
    if (!isBinary && data[0] === messageTypeByte) {
      if (
        this.onShortMessage !== undefined &&
        data.length <= maxFastPathBytes &&
        this.readyState === "open"
      ) {
        this.onShortMessage(data.subarray(1))
      }
      // Engine.IO only hands the data of a message on.
      else this.onPacket({ type: "message", data: new TextFrame(data.subarray(1)) as unknown as string })
    } else this.onData(isBinary ? data : data.toString())
    countRelayedBytes(data.length)
  }
  /** Sends a message at once; false when it has to wait for its turn. */
  trySend(message: OutboundMessage): boolean {
    // The types of `ws` do not know it.
    const { _sender: sender } = (this.#webSocket ?? {}) as { readonly _sender?: Sender }
    if (sender === undefined || !this.writable || this.#webSocket?.readyState !== 1) return false
    sender.sendFrame(message.frame(), this.#onSent)
    return true
  }
  readonly #onSent = (error?: Error | null): void => {
    if (error) this.onError("write error", error.stack)
  }
  /** Bytes that the network has not taken. */
  get bufferedBytes(): number {
    return this.#webSocket?.bufferedAmount ?? 0
  }
  /** Takes messages of any allowed size from now on. */
  liftSizeLimit(): void {
    this.#isAdmitted = true
  }
  /** What has arrived is held as long as its message is not complete, so it is counted as it arrives. */
  #limitUnauthenticated({ socket }: IncomingMessage): void {
    let arrived = 0
    const countArrived = (chunk: Buffer) => {
      arrived += chunk.length
      if (this.#isAdmitted) socket.off("data", countArrived)
      else if (arrived > maxUnauthenticatedBytes) this.onError("too much before being let in")
    }
    socket.on("data", countArrived)
  }
  /** Reads nothing for some milliseconds: the network holds the sender back. */
  pauseFor(millis: number): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#pauseReading()
    setTimeout(() => {
      this.#isPaused = false
      this.#resumeReading()
    }, millis).unref()
  }
  #pauseReading(): void {
    this.#pauseCount += 1
    if (this.#pauseCount === 1) this.#webSocket?.pause()
  }
  #resumeReading(): void {
    this.#pauseCount -= 1
    if (this.#pauseCount === 0) this.#webSocket?.resume()
  }
  /** What had come before the end counts. */
  override onClose(): void {
    for (const frame of this.#deferred?.splice(0) ?? []) this.#onMessage(frame)
    super.onClose()
  }
  /** Whoever takes nothing is not waited for. */
  override doClose(done?: () => void): void {
    // What comes while the far end has not agreed yet is of no use.
    this.#webSocket?.removeAllListeners("message")
    if (this.bufferedBytes > 0) this.#webSocket?.terminate()
    super.doClose(done)
  }
  override send(packets: EnginePackets): void {
    super.send(
      packets.map((packet) =>
        encodeForTransport(packet, (message) => ({
          options: { compress: false, wsPreEncodedFrame: message.frame() }
        }))
      )
    )
  }
}

/** The parts of the transport of polling that are needed here, as Engine.IO has them. */
interface PollingTransport {
  maxHttpBufferSize: number
  /** How long whoever does not ask for anything may take to hear that it is closed, in milliseconds. */
  closeTimeout: number
  send(packets: EnginePackets): void
  onRequest(request: EngineRequest): void
  onData(payload: string): void
  onError(reason: string): void
  once(event: "close", listener: () => void): unknown
  /** Puts back what is to be sent next, and first; missing until the connection is open. */
  requeue?: (packets: EnginePackets) => void
  /** The request by which messages come, while one does. */
  readonly dataReq?: IncomingMessage | null
}

/** The packets for one answer; what is too much goes back to where it came from. */
const takeResponseBatch = (packets: EnginePackets, requeue: PollingTransport["requeue"]): EnginePackets => {
  let bytes = 0
  const end = packets.findIndex((packet, index) => {
    bytes += outboundMessageOf(packet)?.size ?? 0
    return index > 0 && bytes > maxPollResponseBytes
  })
  if (end === -1 || requeue === undefined) return packets
  requeue(packets.slice(end))
  return packets.slice(0, end)
}

const isPolling = (transport: object): transport is PollingTransport => "maxHttpBufferSize" in transport

const countPackets = (payload: string): number => {
  let count = 1
  for (let at = payload.indexOf(packetSeparator); at !== -1; at = payload.indexOf(packetSeparator, at + 1))
    count += 1
  return count
}

/** The answers in which polling members take what waits for them, as long as they read. */
const pollResponses = new WeakMap<object, ServerResponse>()

/** Polling takes messages as text, and no more at once than others can wait for. */
const makePollingTransport = (request: EngineRequest): Transport => {
  // The form for scripts of other sites would hide how many packets there are; no client speaks it any more.
  delete request._query["j"]
  // Engine.IO declares it as a function, and calls it as one, too.
  const transport = (transports.polling as unknown as (request: EngineRequest) => PollingTransport)(request)
  transport.closeTimeout = closeTimeout
  const onData = transport.onData.bind(transport)
  const onRequest = transport.onRequest.bind(transport)
  const send = transport.send.bind(transport)
  transport.send = (packets) =>
    send(
      takeResponseBatch(packets, transport.requeue).map((packet) =>
        encodeForTransport(packet, (message) => ({ data: message.text() }))
      )
    )
  transport.onData = (payload) => {
    if (countPackets(payload) > maxPacketsPerPayload) transport.onError("too many packets at once")
    else onData(payload)
  }
  transport.onRequest = (next) => {
    if (next.method === "GET" && next.res !== undefined) pollResponses.set(transport, next.res)
    onRequest(next)
  }
  transport.once("close", () => {
    const response = pollResponses.get(transport)
    if (response === undefined || response.writableFinished) return
    // It outlives the session, with all that waits in it.
    setTimeout(() => {
      if (!response.writableFinished) response.destroy()
    }, closeTimeout).unref()
  })
  return transport as unknown as Transport
}

/** The connections that carry what a member sends and is sent at the moment. */
const netSocketsOf = (transport: object): ReadonlyArray<Socket> => {
  if (transport instanceof ByteWebSocket) return [transport.netSocket]
  const dataSocket = isPolling(transport) ? transport.dataReq?.socket : undefined
  return [dataSocket, pollResponses.get(transport)?.socket].filter((socket) => socket != null)
}

/** What an engine is made of. */
export interface RelayEngineOptions {
  readonly maxMessageBytes: number
  readonly allowedOrigins: ReadonlyArray<string>
  readonly pingInterval: number
  readonly pingTimeout: number
}

/**
 * The server of Engine.IO, on whose connections the messages are {@link OutboundMessage}, and {@link TextFrame} where they
 * come over WebSocket. It still reads messages somewhat over the limit, so that their senders can be told.
 */
export class RelayEngine extends Server {
  readonly #maxPayloadBytes: number
  constructor({ allowedOrigins, maxMessageBytes, pingInterval, pingTimeout }: RelayEngineOptions) {
    const maxPayloadBytes = 2 * maxMessageBytes + maxEnvelopeBytes
    super({
      maxHttpBufferSize: maxMessageBytes,
      httpCompression: false,
      pingInterval,
      pingTimeout,
      wsEngine: class extends WebSocketServer {
        constructor(given: ConstructorParameters<typeof WebSocketServer>[0]) {
          const more = { maxPayload: maxPayloadBytes, closeTimeout }
          super({ ...given, ...more })
        }
      },
      ...(allowedOrigins.length > 0 && {
        cors: { origin: allowedOrigins.includes("*") ? true : [...allowedOrigins] }
      })
    })
    this.#maxPayloadBytes = maxPayloadBytes
    this.on("connection", (connection: EngineSocketInternals & { writeBuffer: EnginePackets }) => {
      const { transport } = connection
      extendKeepaliveOnProgress(connection, netSocketsOf)
      if (!isPolling(transport)) return
      transport.maxHttpBufferSize = maxUnauthenticatedBytes
      // Whatever transport comes next takes it from there, be it by another answer or a WebSocket.
      transport.requeue = (packets) => connection.writeBuffer.unshift(...packets)
    })
  }
  /** Takes messages of any allowed size on a transport, whose member has been let in. */
  liftSizeLimit(transport: object): void {
    if (transport instanceof ByteWebSocket) transport.liftSizeLimit()
    else if (isPolling(transport)) transport.maxHttpBufferSize = this.#maxPayloadBytes
  }
  protected override createTransport(name: string, request: IncomingMessage): Transport {
    return name === "websocket"
      ? new ByteWebSocket(request as EngineRequest)
      : makePollingTransport(request as EngineRequest)
  }
}

/** Gives short messages of a connection straight to a listener, for as long as it lives. */
export const listenForShortMessages = (
  engineSocket: EngineSocket,
  listener: (bytes: Buffer) => void
): void => {
  const attach = (transport: unknown) => {
    if (transport instanceof ByteWebSocket) transport.onShortMessage = listener
  }
  attach(engineSocket.transport)
  engineSocket.on("upgrade", attach)
}

/** Sends a message on a connection: at once where nothing is before it, else when its turn comes. */
export const sendMessage = (engineSocket: EngineSocket, message: OutboundMessage): void => {
  const { readyState, transport } = engineSocket
  const canSendNow = readyState === "open" && isWriteBufferEmpty(engineSocket)
  if (canSendNow && transport instanceof ByteWebSocket && transport.trySend(message))
    message.onDequeued(message.size)
  // Engine.IO only hands the data of a message to its transports, which are ours.
  else engineSocket.send(message as unknown as string)
}

/** Does nothing wait in the buffer of Engine.IO, which its types hide? */
const isWriteBufferEmpty = (engineSocket: object): boolean =>
  "writeBuffer" in engineSocket &&
  Array.isArray(engineSocket.writeBuffer) &&
  engineSocket.writeBuffer.length === 0

/** Holds a sender back, where its transport can. */
export const pauseReading = (transport: unknown, millis: number): void => {
  if (transport instanceof ByteWebSocket) transport.pauseFor(millis)
}

/** Bytes that the transport of a connection has taken and the network has not. */
export const bufferedBytes = (transport: object): number =>
  transport instanceof ByteWebSocket
    ? transport.bufferedBytes
    : (pollResponses.get(transport)?.writableLength ?? 0)
