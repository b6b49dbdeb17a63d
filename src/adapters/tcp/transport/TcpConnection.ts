import type { Socket } from "node:net"
import { formatNetworkError } from "../../bytes/networkErrors.ts"
import { countRelayedBytes } from "../../process/gcTuning.ts"
import { encodeControl, FrameReader, frameKinds } from "./frames.ts"
import { PartWriter } from "./PartWriter.ts"

/** Bytes of a frame before both ends know each other: enough for credentials. */
const maxUnknownBytes = 64 * 1024

/** Bytes of a frame after that, which is more than any message of a member. */
const maxFrameBytes = 128 * 1024 * 1024

/** Milliseconds between two checks, and how many in a row without a received byte close the connection. */
const checkMillis = 1000
const maxSilentChecks = 5

/** Milliseconds that the far end has to read the last frames. */
const closeTimeout = 1000

/** Milliseconds for the connection and the first frames. */
export const openTimeout = 2000

/** Where a server listens. With a key, TLS encrypts the connections: both ends know it instead of certificates. */
export interface TcpAddress {
  /** With a slash at the start, the path of a Unix socket, for processes that may enter its folder; it has no port. */
  readonly host: string
  readonly port: number
  readonly key?: Buffer
}

export const connectionOptions = { noDelay: true }

/** With TLS, a key that both ends know stands for certificates. */
export const tlsOptions = { minVersion: "TLSv1.3", ciphers: "TLS_AES_128_GCM_SHA256" } as const

const checkFrame = encodeControl(frameKinds.check)

interface ConnectionEvents {
  /** A frame of any kind but a check. False closes the connection. */
  readonly onFrame: (frame: Buffer) => boolean
  /** The connection is closed, for any reason. */
  readonly onClose: (reason: string) => void
}

/**
 * One end of a connection that carries frames. Each end sends something every second: a network that drops all packets
 * closes no connection.
 */
export class TcpConnection {
  readonly socket: Socket
  /** Takes all frames. */
  readonly output: PartWriter
  readonly #reader: FrameReader
  readonly #timer: NodeJS.Timeout
  #reason: string | undefined
  #bytesRead = 0
  #bytesSent = 0
  #silentChecks = 0

  constructor(socket: Socket, { onClose, onFrame }: ConnectionEvents) {
    this.socket = socket
    this.output = new PartWriter(socket)
    this.#reader = new FrameReader(maxUnknownBytes, (frame) => {
      countRelayedBytes(frame.length)
      if (this.#reason === undefined && frame[0] !== frameKinds.check && !onFrame(frame)) this.destroy("invalid_packet")
    })
    this.#timer = setInterval(() => this.#check(), checkMillis)
    socket.on("data", (chunk: Buffer) => {
      if (this.#reason === undefined && !this.#reader.read(chunk)) this.destroy("invalid_packet")
    })
    socket.on("error", (error) => (this.#reason ??= formatNetworkError(error)))
    socket.once("close", () => {
      clearInterval(this.#timer)
      onClose(this.#reason ?? "transport_closed")
    })
  }

  /** Accepts frames of any allowed size: both ends know each other. */
  liftLimit(): void {
    this.#reader.maxBytes = maxFrameBytes
  }

  control(kind: number, value?: object): void {
    if (this.#reason === undefined) this.output.write(encodeControl(kind, value))
  }

  /** Closes the connection after the frames sent before, and the reason, have left. */
  end(reason: string): void {
    if (this.#reason !== undefined) return
    this.control(frameKinds.close, { reason })
    this.#reason = reason
    this.output.end()
    setTimeout(() => this.socket.destroy(), closeTimeout).unref()
  }

  destroy(reason: string): void {
    this.#reason ??= reason
    this.socket.destroy()
  }

  /** Counts checks, not time: after a pause of this process, received bytes are read before the next check. */
  #check(): void {
    const { bytesRead } = this.socket
    this.#silentChecks = bytesRead === this.#bytesRead && !this.socket.isPaused() ? this.#silentChecks + 1 : 0
    this.#bytesRead = bytesRead
    if (this.#silentChecks >= maxSilentChecks) return this.destroy("keepalive_timeout")
    const isIdle = this.socket.bytesWritten === this.#bytesSent && this.output.writableLength === 0
    if (isIdle && this.#reason === undefined) this.output.write(checkFrame)
    this.#bytesSent = this.socket.bytesWritten
  }
}
