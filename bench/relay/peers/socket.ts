import { once } from "node:events"
import { WebSocket } from "ws"
import { countRelayedBytes } from "../../../src/adapters/process/gcTuning.ts"
import { maxMessageBytes } from "../limits.ts"
import type { Fail } from "./Peers.ts"

/** A connection to a measured server that carries text as bytes. */
export interface TextSocket {
  /** The bytes may be used again as soon as this returns. */
  readonly send: (text: Buffer | string) => void
}

/** Any mask but zero will do: making random ones is work of the load, unmasking them is the same for every server. */
const mask = (key: Buffer) => void key.writeUInt32BE(0x5ac3_691e)

/** Opens a WebSocket; whatever it hears goes to `hear`, together with the socket, and its unexpected end to `fail`. */
export const openSocket = async (
  url: string,
  hear: (message: Buffer, socket: TextSocket) => void,
  fail: Fail
): Promise<TextSocket> => {
  const socket = new WebSocket(url, {
    generateMask: mask,
    maxPayload: 2 * maxMessageBytes,
    perMessageDeflate: false,
    skipUTF8Validation: true
  })
  const opened: TextSocket = {
    // As a client, `ws` masks a copy of what it is given, and has made it when `send` returns.
    send: (text) => socket.send(text, { binary: false })
  }
  // Before it is open: the first message may come together with the end of the handshake.
  socket.on("message", (message: Buffer) => {
    hear(message, opened)
    countRelayedBytes(message.length)
  })
  await once(socket, "open").catch((cause: Error) => {
    throw new Error(`${url}: ${cause.message}`, { cause })
  })
  socket.on("error", (error) => fail(`${url}: ${error.message}`))
  socket.on("close", (code, reason) =>
    fail(`${url} has closed the connection (${code} ${reason.toString()})`)
  )
  return opened
}

/** Most bytes of a header. */
const headerRoom = 128

/** A message whose long body is prepared once, and whose header is written before it each time. */
export const prepare = (body: string): ((header: string) => Buffer) => {
  const bytes = Buffer.alloc(headerRoom + Buffer.byteLength(body))
  bytes.write(body, headerRoom)
  return (header) => {
    const start = headerRoom - header.length
    bytes.write(header, start, "latin1")
    return bytes.subarray(start)
  }
}

/** How much of a body is compared at either end; a body of wrong length is wrong anyway. */
const compared = 512

/** Is the rest of a message, from `start` on, this body? Large ones are compared at both ends only. */
export const endsWith = (message: Buffer, start: number, body: Buffer): boolean => {
  if (message.length - start !== body.length) return false
  const head = Math.min(compared, body.length)
  const tail = body.length - head
  return (
    message.compare(body, 0, head, start, start + head) === 0 &&
    message.compare(body, tail, body.length, start + tail) === 0
  )
}

/** Reads the digits from `start` on; gives their number, and where they end. */
export const readDigits = (
  message: Buffer,
  start: number
): { readonly value: number; readonly end: number } => {
  let value = 0
  let end = start
  for (; end < message.length; end++) {
    const digit = (message[end] ?? 0) - 48
    if (digit < 0 || digit > 9) break
    value = value * 10 + digit
  }
  return { value, end }
}
