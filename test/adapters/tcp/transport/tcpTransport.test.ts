import { type AddressInfo, connect, createServer, isIP, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Scope } from "effect"
import { connectTcp } from "../../../../src/adapters/tcp/transport/connectTcp.ts"
import { encodeControl, frameKinds } from "../../../../src/adapters/tcp/transport/frames.ts"
import { listenTcp } from "../../../../src/adapters/tcp/transport/tcpServer.ts"
import {
  makeTcpNodeTransport,
  formatNodeAddress,
  interfaceTo,
  parseNodeAddress
} from "../../../../src/adapters/tcp/nodes/TcpNodeTransport.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { NodeTransport } from "../../../../src/application/ports/Transport.ts"
import { NodeLink } from "../../../../src/application/server/nodes/NodeLink.ts"
import { makeEcho, request } from "../../nodeLink.contract.ts"
import { until } from "../../../until.ts"

const host = "127.0.0.1"
const options = { version: "0.2.0", auth: {}, onMessage: () => Effect.succeed([]) }

/** A server without admission, and its port. */
const serving = Effect.gen(function* () {
  const { port, serve } = yield* listenTcp({ host, port: 0, maxMessageBytes: 1000 })
  yield* serve(() => Effect.succeed((_, body) => Effect.succeed([body])))
  return port
})

/** A socket to a port, and the time in milliseconds until the other end closes it. */
const openSocket = Effect.fnUntraced(function* (port: number, bytes: Uint8Array = new Uint8Array()) {
  const begun = performance.now()
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => connect({ host, port }, () => socket.write(bytes))),
    (opened) => Effect.sync(() => opened.destroy())
  ) as Effect.Effect<Socket, never, Scope.Scope>
  const closed = Effect.callback<number>((resume) => {
    socket.on("error", () => undefined)
    socket.resume().on("close", () => resume(Effect.succeed(performance.now() - begun)))
  })
  return { socket, closed }
})

/** A server of another protocol, and its port. */
const otherService = (onSocket: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((socket) => {
        socket.on("error", () => undefined)
        onSocket(socket)
      }).listen(0, host, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ).pipe(Effect.map((server) => (server.address() as AddressInfo).port))

const live = (title: string, body: () => Effect.gen.Return<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(Effect.gen(body)))

describe("a server over TCP", { concurrent: true }, () => {
  const tooLong = Buffer.from([0, 1, 0, 1])

  it.live.each([
    ["a frame of another kind", encodeControl(frameKinds.check + 90)],
    ["an event", encodeControl(frameKinds.event, {})],
    ["a frame that is too long for credentials", tooLong],
    ["an empty frame", Buffer.alloc(4)]
  ] as const)("closes a connection that begins with %s", ([, bytes]) =>
    Effect.gen(function* () {
      const { closed } = yield* openSocket(yield* serving, bytes)
      assert.isBelow(yield* closed, 1900)
    }).pipe(Effect.scoped)
  )

  live("closes a connection that sends no credentials after two seconds", function* () {
    const { closed } = yield* openSocket(yield* serving)
    assert.isAbove(yield* closed, 1900)
  })

  live("takes at most 64 connections without credentials, and members again after them", function* () {
    const port = yield* serving
    const waiting = yield* Effect.forEach(Array.from({ length: 64 }), () => openSocket(port))
    yield* until(() => waiting.every(({ socket }) => socket.readyState === "open"))
    const { closed } = yield* openSocket(port)
    assert.isBelow(yield* closed, 1900)
    for (const { socket } of waiting) socket.destroy()
    const link = yield* Effect.eventually(connectTcp({ host, port }, options))
    assert.isString(link.id)
  })

  live("closes the link of a member that sends an invalid frame, and no other", function* () {
    const port = yield* serving
    const other = yield* connectTcp({ host, port }, options)
    const hello = encodeControl(frameKinds.connect, { version: "0.2.0", auth: {} })
    const { closed } = yield* openSocket(port, Buffer.concat([hello, Buffer.from([0, 0, 0, 1, frameKinds.event])]))
    yield* closed
    assert.lengthOf(yield* other.request("x", jsonBody(1), Duration.minutes(1)), 1)
  })
})

describe("a member over TCP", { concurrent: true }, () => {
  it.live.each([
    [
      "answers with other bytes",
      (socket: Socket): void => {
        socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      }
    ],
    [
      "closes the connection",
      (socket: Socket): void => {
        socket.destroy()
      }
    ],
    ["does not answer", () => undefined]
  ] as const)("cannot reach a service that %s", ([, onSocket]) =>
    Effect.gen(function* () {
      const port = yield* otherService(onSocket)
      assert.strictEqual((yield* Effect.flip(connectTcp({ host, port }, options)))._tag, "Unreachable")
    }).pipe(Effect.scoped)
  )

  live("loses its link to a server that sends nothing more", function* () {
    const port = yield* otherService((socket) => void socket.write(encodeControl(frameKinds.accept, { id: "x" })))
    const link = yield* connectTcp({ host, port }, options)
    assert.strictEqual(yield* link.closed, "keepalive_timeout")
  })

  live("keeps a link that carries nothing", function* () {
    const link = yield* connectTcp({ host, port: yield* serving }, options)
    const closed = yield* Effect.timeoutOption(link.closed, "7 seconds")
    assert.isTrue(closed._tag === "None")
  })
})

describe("a node over TCP", { concurrent: true }, () => {
  /** A node that finds the others in a map, and its address. */
  const open = Effect.fnUntraced(function* (node: string, addresses: Map<string, string>) {
    const { address, transport } = yield* makeTcpNodeTransport({
      node,
      address: { host, port: 0 },
      secure: false,
      addressOf: (other) => Effect.succeed(addresses.get(other))
    })
    addresses.set(node, address)
    const layer = Layer.provide(NodeLink.layer, Layer.succeed(NodeTransport, transport))
    const link = Context.get(yield* Layer.build(Layer.fresh(layer)), NodeLink)
    yield* link.serve(makeEcho())
    return link
  })

  live("takes no link without its secret", function* () {
    const addresses = new Map<string, string>()
    const one = yield* open("one", addresses)
    yield* open("two", addresses)
    const parsed = parseNodeAddress(addresses.get("two") ?? "")
    assert.isDefined(parsed)
    addresses.set("two", formatNodeAddress({ ...parsed, secret: Buffer.alloc(32) }))
    assert.strictEqual(yield* request(one, "two", "echo", 1), "NodeUnreachable")
  })

  live("opens a new link to a node that has lost one", function* () {
    const addresses = new Map<string, string>()
    const one = yield* open("one", addresses)
    const two = yield* open("two", addresses)
    assert.deepStrictEqual(yield* request(one, "two", "echo", 1), [1])
    two.onNodeLost("one")
    yield* until(() => one.load().links === 0)
    assert.deepStrictEqual(yield* request(one, "two", "echo", 2), [2])
  })

  live("reports a node that has ended, and reaches it again when it is back", function* () {
    const addresses = new Map<string, string>()
    const one = yield* open("one", addresses)
    const home = yield* Scope.make()
    yield* Scope.provide(open("two", addresses), home)
    assert.deepStrictEqual(yield* request(one, "two", "echo", 1), [1])
    yield* Scope.close(home, Exit.void)
    yield* until(() => one.load().links === 0)
    assert.strictEqual(yield* request(one, "two", "echo", 2), "NodeUnreachable")
    yield* open("two", addresses)
    // At once it still fails: an attempt has just failed.
    assert.strictEqual(yield* request(one, "two", "echo", 3), "NodeUnreachable")
    yield* Effect.sleep("1200 millis")
    assert.deepStrictEqual(yield* request(one, "two", "echo", 4), [4])
  })
})

describe("the address of a node", () => {
  it.each([
    { host: "10.0.0.1", port: 7072, secure: false, secret: Buffer.alloc(32, 1) },
    { host: "::1", port: 1, secure: true, secret: Buffer.alloc(32, 255) },
    { host: "node-1.internal", port: 65_535, secure: true, secret: Buffer.alloc(32) }
  ])("is one text: $host", (address) => {
    assert.deepStrictEqual(parseNodeAddress(formatNodeAddress(address)), address)
  })

  it.effect("is by default that of the interface to Redis, or any other when Redis cannot be looked up", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* interfaceTo("127.0.0.1"), "127.0.0.1")
      assert.isAbove(isIP(yield* interfaceTo("a..b")), 0)
    })
  )

  it.each([
    "",
    "x",
    "tcp://",
    "tcp://h:1",
    "http://00@h:1",
    `tcp://${"0".repeat(62)}@h:1`,
    `tcp://${"0".repeat(64)}@h`
  ])("is invalid: %s", (text) => {
    assert.isUndefined(parseNodeAddress(text))
  })
})
