/**
 * The floor: a relay on bare `ws`. The first bytes of a message name the receiver; the relay forwards the message
 * unchanged.
 */
import { createServer } from "node:http"
import { WebSocketServer, type WebSocket } from "ws"
import { obeyOrders } from "../host.ts"
import { maxMessageBytes } from "../limits.ts"
import { listen } from "../listen.ts"
import { nameLength } from "../prefix.ts"

const members = new Map<string, WebSocket>()
const http = createServer()

new WebSocketServer({ server: http, maxPayload: maxMessageBytes }).on("connection", (socket, request) => {
  const name = (request.url ?? "").slice(1)
  members.set(name, socket)
  socket.on("close", () => void members.delete(name))
  socket.on("message", (message: Buffer) => {
    members.get(message.toString("latin1", 0, nameLength))?.send(message, { binary: false })
  })
})

obeyOrders(await listen(http))
