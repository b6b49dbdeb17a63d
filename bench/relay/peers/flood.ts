import { randomBytes } from "node:crypto"
import { get, type IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { FloodScript } from "./Peers.ts"

/** A running flood. */
export interface Flood {
  /** True when the server ended it. */
  readonly isCutOff: () => boolean
  readonly stop: () => void
}

/** Messages per write, to keep the cost of the load generator low. */
const batchSize = 400

/** A client's WebSocket text frame with a zero mask (RFC 6455 §5.2), for texts below 64 KiB. */
const frame = (text: string): Buffer => {
  const payload = Buffer.from(text)
  const { length } = payload
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([0x81, ...size, 0, 0, 0, 0]), payload])
}

const upgrade = (address: string, path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const headers = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
      "Sec-WebSocket-Version": "13"
    }
    get(`http://${address}${path}`, { headers })
      .on("upgrade", (_response: IncomingMessage, socket: Socket) => resolve(socket))
      .on("response", ({ statusCode }) => reject(new Error(`the flood was refused with ${statusCode}`)))
      .on("error", reject)
  })

const received = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    let all = ""
    const receive = (chunk: Buffer) => {
      all += chunk.toString("latin1")
      if (!all.includes(text)) return
      socket.off("data", receive)
      resolve()
    }
    socket.on("data", receive)
    socket.once("close", () => reject(new Error(`the flood was not let in: ${all}`)))
  })

/** Sends on one connection as fast as the server reads, until it is stopped. */
export const startFlood = async (address: string, script: FloodScript): Promise<Flood> => {
  const socket = await upgrade(address, script.path)
  for (const { send, until } of script.greeting) {
    const answered = received(socket, until)
    socket.write(frame(send))
    await answered
  }
  let stopped = false
  let cutOff = false
  // A server may close the connection: that is legal and ends the flood.
  socket.on("error", () => undefined)
  socket.on("close", () => {
    cutOff = !stopped
  })
  socket.on("end", () => socket.destroy())
  socket.resume()
  const message = frame(script.message)
  const batch = Buffer.concat(Array.from({ length: batchSize }, () => message))
  const pour = () => {
    if (!stopped && socket.writable) socket.write(batch)
  }
  socket.on("drain", pour)
  pour()
  return {
    isCutOff: () => cutOff,
    stop: () => {
      stopped = true
      // Drops messages that wait to be sent.
      socket.resetAndDestroy()
    }
  }
}
