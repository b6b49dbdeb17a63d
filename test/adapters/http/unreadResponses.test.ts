import { createServer } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Queue, type Scope } from "effect"
import { limitUnreadResponses } from "../../../src/adapters/http/unreadResponses.ts"
import { writeInParts } from "../../../src/adapters/bytes/writeInParts.ts"
import { publishHttp } from "../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { served } from "../packs/served.ts"

const mebibyte = 1024 * 1024

/** Bytes of one response: more than the buffers of the network hold. */
const responseBytes = 20 * mebibyte

/** A server whose responses are large. */
const site = Effect.fnUntraced(function* (maxUnreadBytes: number) {
  const server = createServer((_, response) => writeInParts(response, Buffer.alloc(responseBytes)))
  yield* limitUnreadResponses(server, maxUnreadBytes)
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const { port } = server.address() as AddressInfo
  /** A client that has sent a request and reads nothing. */
  const client: Effect.Effect<Socket, never, Scope.Scope> = Effect.acquireRelease(
    Effect.sync(() => {
      const socket = connect(port, "127.0.0.1").pause()
      socket.on("error", () => socket.destroy())
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  const connections = Effect.callback<number>((resume) => {
    server.getConnections((_, count) => resume(Effect.succeed(count)))
  })
  return { client, connections }
})

/** Reads a little every time; gives the number of bytes when the connection ends. */
const readSlowly = (socket: Socket) =>
  Effect.gen(function* () {
    let bytes = 0
    let ended = false
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      socket.pause()
    })
    socket.on("close", () => {
      ended = true
    })
    while (!ended) {
      socket.resume()
      yield* Effect.sleep("2 millis")
    }
    return bytes
  })

describe("the limit of unread responses of a server", () => {
  it.live("ends responses beyond it, those of a slow reader last", () =>
    Effect.gen(function* () {
      const { client, connections } = yield* site(40 * mebibyte)
      const slow = yield* Effect.forkChild(Effect.flatMap(client, readSlowly))
      for (const _ of [1, 2, 3]) yield* client
      assert.isAtLeast(yield* Fiber.join(slow), responseBytes)
      yield* Effect.repeat(Effect.andThen(Effect.sleep("20 millis"), connections), { until: (count) => count < 3 })
    })
  )

  it.live("has no effect on responses within it", () =>
    Effect.gen(function* () {
      const { client } = yield* site(100 * mebibyte)
      const sockets = yield* Effect.all([client, client, client])
      yield* Effect.sleep("2500 millis")
      for (const socket of sockets) assert.isAtLeast(yield* readSlowly(socket), responseBytes)
    })
  )
})

/** A request that is sent on a connection whose response is not read. */
const postUnread = (url: string, headers: Record<string, string>, body: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { hostname, pathname, port } = new URL(url)
      const socket = connect(Number(port), hostname).pause()
      const lines = Object.entries({ Host: hostname, "Content-Length": String(Buffer.byteLength(body)), ...headers })
      socket.on("error", () => socket.destroy())
      socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`)
      socket.write(body)
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

/** A tool that returns a large text. */
const largeTool = {
  definition: { name: "large", inputSchema: { type: "object" } },
  run: () => Effect.succeed({ content: [{ type: "text", text: "x".repeat(responseBytes) }] })
}

const json = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" }

const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })

/** Waits for the warning about a closed connection. */
const closesUnread = (requests: Effect.Effect<unknown, unknown, Scope.Scope>) =>
  Effect.gen(function* () {
    const lines = yield* Queue.unbounded<string>()
    const logger = Logger.make(({ message }) => void Queue.offerUnsafe(lines, JSON.stringify(message)))
    yield* Effect.andThen(
      requests,
      Effect.repeat(Queue.take(lines), { until: (line) => line.includes("unread_responses_exceeded") })
    ).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])))
  })

describe("the limit of unread responses of many clients", () => {
  it.live("holds for a published session", () =>
    closesUnread(
      Effect.gen(function* () {
        const server = yield* makeMemoryMcpServer({ tools: [largeTool] })
        const { url } = yield* publishHttp(yield* server.connect, {
          port: 0,
          token: "allowAll",
          maxUnreadBytes: 30 * mebibyte
        })
        const clientInfo = { name: "raw", version: "0" }
        const initialize = rpc("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo })
        for (const _ of [1, 2]) {
          const begun = yield* Effect.promise(() => fetch(url, { method: "POST", headers: json, body: initialize }))
          yield* Effect.promise(() => begun.text())
          const session = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" }
          yield* postUnread(url, { ...json, ...session }, rpc("tools/call", { name: "large", arguments: {} }))
        }
      })
    )
  )

  it.live("holds for a tool server", () =>
    closesUnread(
      Effect.gen(function* () {
        const { url } = yield* served({ maxBodyBytes: 2 * responseBytes, maxUnreadBytes: 30 * mebibyte })
        const body = JSON.stringify({ text: "x".repeat(responseBytes) })
        for (const _ of [1, 2]) yield* postUnread(`${url}/tools/echo`, { "Content-Type": "application/json" }, body)
      })
    )
  )
})
