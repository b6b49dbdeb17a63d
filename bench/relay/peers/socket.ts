import { once } from "node:events"
import { WebSocket } from "ws"
import { countRelayedBytes } from "../../../src/adapters/process/gcTuning.ts"
import { maxMessageBytes } from "../limits.ts"
import type { Fail } from "./Peers.ts"

/** A connection to a measured server for text as bytes. */
export interface TextSocket {
  /** Copies the bytes: the caller may reuse them. */
  readonly send: (text: Buffer | string) => void
  readonly close: () => void
}

/** A fixed non-zero mask. Random masks would cost the load generator time; unmasking costs servers the same. */
const mask = (key: Buffer) => void key.writeUInt32BE(0x5ac3_691e)

/** Opens a WebSocket. Messages go to `receive` with the socket, an unexpected close to `fail`. */
export const openSocket = async (
  url: string,
  receive: (message: Buffer, socket: TextSocket) => void,
  fail: Fail
): Promise<TextSocket> => {
  const socket = new WebSocket(url, {
    generateMask: mask,
    maxPayload: 2 * maxMessageBytes,
    perMessageDeflate: false,
    skipUTF8Validation: true
  })
  let isClosing = false
  const opened: TextSocket = {
    // The client of `ws` masks a copy, which exists when `send` returns.
    send: (text) => socket.send(text, { binary: false }),
    close: () => {
      isClosing = true
      socket.close()
    }
  }
  // Added before the open event: the first message may arrive with the end of the handshake.
  socket.on("message", (message: Buffer) => {
    receive(message, opened)
    countRelayedBytes(message.length)
  })
  await once(socket, "open").catch((cause: Error) => {
    throw new Error(`${url}: ${cause.message}`, { cause })
  })
  socket.on("error", (error) => fail(`${url}: ${error.message}`))
  socket.on("close", (code, reason) => {
    if (!isClosing) fail(`${url} has closed the connection (${code} ${reason.toString()})`)
  })
  return opened
}

/** Maximum bytes of a header. */
const headerRoom = 128

/** A message with a body prepared once; each send writes the header before it. */
export const prepare = (body: string): ((header: string) => Buffer) => {
  const bytes = Buffer.alloc(headerRoom + Buffer.byteLength(body))
  bytes.write(body, headerRoom)
  return (header) => {
    const start = headerRoom - header.length
    bytes.write(header, start, "latin1")
    return bytes.subarray(start)
  }
}

/** Bytes that are compared at each end of a body, beside its length. */
const compared = 512

/** True when the message from `start` on equals a body. Large bodies are compared at both ends only. */
export const endsWith = (message: Buffer, start: number, body: Buffer): boolean => {
  if (message.length - start !== body.length) return false
  const head = Math.min(compared, body.length)
  const tail = body.length - head
  return (
    message.compare(body, 0, head, start, start + head) === 0 &&
    message.compare(body, tail, body.length, start + tail) === 0
  )
}

/** Parses the digits from `start` on; returns the number and the index after it. */
export const readDigits = (message: Buffer, start: number): { readonly value: number; readonly end: number } => {
  let value = 0
  let end = start
  for (; end < message.length; end++) {
    const digit = (message[end] ?? 0) - 48
    if (digit < 0 || digit > 9) break
    value = value * 10 + digit
  }
  return { value, end }
}
