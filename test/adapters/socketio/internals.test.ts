import { EventEmitter } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { createServer as createHttpServer, type IncomingMessage, type Server as HttpServer } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo, Socket as NetSocket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Server, type Socket as EngineSocket, transports } from "engine.io"
import { Server as SocketIo } from "socket.io"
import { io } from "socket.io-client"
import { WebSocketServer } from "ws"
import { writeProgressOf } from "../../../src/adapters/http/writeProgress.ts"
import * as internals from "../../../src/adapters/socketio/internals.ts"

const pem = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), "utf8")
const cert = pem("first.cert")

type Fields = Readonly<Record<string, unknown>>

/** The type of each private field, by name. */
const typesOf = (object: unknown, names: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name) => [name, typeof (object as Fields)[name]]))

/** An engine with default transports, and a client of it. */
const connected = Effect.fnUntraced(function* (transport: "polling" | "websocket", tls: boolean, pingInterval = 50) {
  const http: HttpServer = tls ? createHttpsServer({ cert, key: pem("first.key") }) : createHttpServer()
  const engine = new Server({ pingInterval, pingTimeout: 5000 })
  engine.attach(http, { path: "/smcp" })
  const opened: Array<EngineSocket> = []
  engine.on("connection", (socket: EngineSocket) => void opened.push(socket))
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      http.listen(0, "127.0.0.1", () => resume(Effect.succeed((http.address() as AddressInfo).port)))
    }),
    () =>
      Effect.callback<void>((resume) => {
        engine.close()
        http.closeAllConnections()
        http.close(() => resume(Effect.void))
      })
  )
  const client = yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${tls ? "https" : "http"}://localhost:${port}`, {
        path: "/smcp",
        transports: [transport],
        reconnection: false,
        forceNew: true,
        ca: cert
      })
    ),
    (socket) => Effect.sync(() => socket.disconnect())
  )
  yield* Effect.callback<void>((resume) => void client.io.engine.once("open", () => resume(Effect.void)))
  const [socket] = opened
  if (socket === undefined) return assert.fail("no connection")
  return { client: client.io.engine, socket }
})

describe("a connection of Engine.IO's server", () => {
  it.live("has the id of its requests, and the WebSocket of its transport", () =>
    Effect.gen(function* () {
      const { client, socket } = yield* connected("websocket", false)
      assert.strictEqual(internals.connectionIdOf(socket), client.id)
      const webSocket = internals.webSocketOf(socket.transport)
      assert.strictEqual(typeof webSocket?.bufferedAmount, "number")
      assert.strictEqual(typeof internals.netSocketBelow(webSocket ?? {})?.bytesRead, "number")
      assert.isTrue(internals.takesFrames(socket.transport))
    })
  )

  it("has the private fields in use on a polling transport", () => {
    const request = { _query: {}, headers: {}, method: "GET" } as unknown as internals.EngineRequest
    const polling = transports.polling(request)
    assert.strictEqual(polling.name, "polling")
    assert.deepStrictEqual(typesOf(polling, ["doWrite", "onData", "onError"]), {
      doWrite: "function",
      onData: "function",
      onError: "function"
    })
  })
})

describe("a server of Socket.IO", () => {
  it("makes the decoders of new connections with a replaced parser", () => {
    const io = new SocketIo()
    const engine = new Server()
    io.bind(engine)
    let count = 0
    const restore = internals.replaceParser(io, ({ Decoder, Encoder }) => ({
      Encoder,
      Decoder: class extends Decoder {
        constructor() {
          super()
          count += 1
        }
      }
    }))
    const open = () => engine.emit("connection", Object.assign(new EventEmitter(), { id: "x", protocol: 4 }))
    open()
    assert.strictEqual(count, 1)
    restore()
    open()
    assert.strictEqual(count, 1)
  })
})

describe("the WebSocket of ws", () => {
  it.live("tells how much of a message has arrived", () =>
    Effect.gen(function* () {
      const { client, socket } = yield* connected("websocket", false)
      const { socket: webSocket } = socket.transport as unknown as { readonly socket: object }
      assert.strictEqual(internals.incompleteBytesOf(webSocket), 0)
      const net = internals.netSocketOf(client)
      const arrived = (bytes: number) =>
        Effect.repeat(Effect.sleep("2 millis"), { until: () => internals.incompleteBytesOf(webSocket) > bytes })
      // The header of a masked text frame of 60 000 bytes that is not the last one, and a part of it.
      net?.write(Buffer.from([0x01, 0xfe, 0xea, 0x60, 0, 0, 0, 0]))
      net?.write(Buffer.alloc(50_000, "x"))
      yield* arrived(50_000)
      net?.write(Buffer.alloc(10_000, "x"))
      net?.write(Buffer.from([0x80, 0xfe, 0xea, 0x60, 0, 0, 0, 0]))
      net?.write(Buffer.alloc(50_000, "x"))
      yield* arrived(110_000)
      assert.isBelow(internals.incompleteBytesOf(webSocket), 120_000)
    })
  )

  it.live("sends frames with a complete header in a packet", () =>
    Effect.gen(function* () {
      const { client, socket } = yield* connected("websocket", false)
      assert.isTrue(internals.takesFrames(socket.transport))
      const frame = (text: string) => Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)])
      const received = yield* Effect.callback<unknown>((resume) => {
        client.once("data", (data) => resume(Effect.succeed(data)))
        const packet = { type: "message", data: "", ...internals.preEncoded([frame('42["one"]')]) } as const
        socket.transport.send([packet])
      })
      assert.strictEqual(received, '2["one"]')
    })
  )

  it("accepts a close timeout", () => {
    const server = new WebSocketServer(internals.withCloseTimeout({ noServer: true }, 123))
    assert.strictEqual((server.options as Fields)["closeTimeout"], 123)
  })
})

describe("a client of Engine.IO", () => {
  for (const tls of [false, true]) {
    it.live(`has the private fields in use over ${tls ? "TLS" : "TCP"}`, () =>
      Effect.gen(function* () {
        const { client } = yield* connected("websocket", tls)
        assert.strictEqual(internals.keepaliveTimeoutOf(client), 5050)
        assert.strictEqual(typeof internals.netSocketOf(client)?.bytesRead, "number")
        internals.startPingTimer(client, 5000, () => undefined)
        assert.deepStrictEqual(
          typesOf(client, ["_pingTimeoutTime", "_pingTimeoutTimer", "_resetPingTimeout", "_onClose"]),
          {
            _pingTimeoutTime: "number",
            _pingTimeoutTimer: "object",
            _resetPingTimeout: "function",
            _onClose: "function"
          }
        )
        // The engine calls the replaced function at the next ping.
        yield* Effect.callback<void>((resume) => internals.replacePingTimer(client, () => resume(Effect.void)))
        const reason = yield* Effect.callback<string>((resume) => {
          client.once("close", (why) => resume(Effect.succeed(why)))
          internals.closeStaleClient(client)
        })
        assert.strictEqual(reason, "ping timeout")
      })
    )
  }
})

describe("a client of Engine.IO in another runtime", () => {
  it("has no socket where the runtime hides its data", () => {
    for (const ws of [undefined, {}, { _socket: { ref: () => undefined } }]) {
      assert.isUndefined(internals.netSocketOf({ transport: { ws } } as unknown as internals.ClientEngine))
    }
  })
})

describe("a socket of another runtime", () => {
  it("counts whole writes where its handle counts no bytes", () => {
    for (const _handle of [null, {}, { _parent: {} }]) {
      const socket = { _handle, bytesWritten: 30, writableLength: 10 } as unknown as NetSocket
      assert.deepStrictEqual(writeProgressOf(socket), { bytesSent: 20, bytesQueued: 10 })
    }
  })
})

describe("a socket of Node", () => {
  for (const tls of [false, true]) {
    it.live(`counts written bytes over ${tls ? "TLS" : "TCP"}`, () =>
      Effect.gen(function* () {
        const { socket } = yield* connected("websocket", tls)
        const { socket: netSocket } = socket.request as IncomingMessage
        const { _handle: handle } = netSocket as unknown as {
          readonly _handle: Fields & { readonly _parent?: Fields }
        }
        assert.strictEqual("_parent" in handle && handle._parent !== undefined, tls)
        assert.deepStrictEqual(typesOf(handle._parent ?? handle, ["bytesWritten", "writeQueueSize"]), {
          bytesWritten: "number",
          writeQueueSize: "number"
        })
        const { bytesQueued, bytesSent } = writeProgressOf(netSocket)
        assert.isAbove(bytesSent, 0)
        assert.strictEqual(bytesQueued, 0)
      })
    )
  }
})

describe("the Socket.IO adapter", () => {
  it("uses private fields in two files only", () => {
    const folder = new URL("../../../src/adapters/", import.meta.url)
    const pattern =
      /\b(?:_sender|_socket|_handle|_ping\w+|_resetPingTimeout|_onClose|wsPreEncodedFrame|_receiver|doWrite)\b/
    const users = ["socketio", "http", "tcp"].flatMap((name) =>
      readdirSync(new URL(`${name}/`, folder), { recursive: true, encoding: "utf8" })
        .filter(
          (file) => file.endsWith(".ts") && pattern.test(readFileSync(new URL(`${name}/${file}`, folder), "utf8"))
        )
        .map((file) => `${name}/${file}`)
    )
    assert.deepStrictEqual(users, ["socketio/internals.ts", "http/writeProgress.ts"])
  })
})
