/** Mounts an office on the Socket.IO server of an Express application. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { connectAgent, runComputer, runServer } from "a2c-smcp/promise"
import express from "express"
import { Server } from "socket.io"
import { io as connect } from "socket.io-client"

const app = express()
app.get("/hello", (_request, response) => void response.send("Hello from Express"))
const http = createServer(app)
const io = new Server(http)
io.of("/chat").on("connection", (socket) => void socket.emit("welcome", "Hello from the chat"))
http.listen(0, "127.0.0.1")
await once(http, "listening")
const { port } = http.address() as AddressInfo

// The office is the namespace /smcp of the same Socket.IO server, at its path /socket.io.
const server = await runServer({ io, authenticate: "allowAll" })
const place = { url: server.url, office: "team" }
const desk = await runComputer({
  ...place,
  name: "desk",
  config: { mcpServers: { memory: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] } } },
  confirm: () => true
})
const agent = await connectAgent({ ...place, name: "thinker" })

const chat = connect(`http://127.0.0.1:${port}/chat`)
const welcome = await new Promise((resolve) => chat.once("welcome", resolve))
const page = await fetch(`http://127.0.0.1:${port}/hello`)
const { content } = await agent.callTool({ tool: "read_graph" })
console.log(await page.text(), "-", welcome, "-", content)

chat.disconnect()
await agent.close()
await desk.close()
await server.close()
await io.close()
