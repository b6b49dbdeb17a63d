import { type AddressInfo, connect, createServer, type Server } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import {
  type DirectAddress,
  DirectConnections
} from "../../../../../src/adapters/redis/nodelink/direct/DirectConnections.ts"
import { maxNodeMessageBytes } from "../../../../../src/adapters/redis/nodelink/messageFormat.ts"
import { NodeMessenger } from "../../../../../src/adapters/redis/nodelink/NodeMessenger.ts"
import { jsonBody } from "../../../../../src/application/ports/Body.ts"
import { makeEcho, memberOf, outcomeOf, valueOf } from "../../../nodeLink.contract.ts"
import { until } from "../../../../until.ts"
import { type TestBody, liveWith } from "../../../../testWith.ts"

const loopback = "127.0.0.1"

/** The port of a server that listens on loopback. */
const portOf = (server: Server) =>
  Effect.callback<number>((resume) => {
    server.listen(0, loopback, () => resume(Effect.succeed((server.address() as AddressInfo).port)))
  })

/** The direct connections of a node, which listens on loopback, with the messages that have arrived. */
const listening = Effect.fnUntraced(function* (node: string, secure: boolean, onMessage?: (message: Buffer) => void) {
  const received: Array<string> = []
  const connections = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new DirectConnections({
          node,
          secure,
          checkMillis: 20,
          onMessage: onMessage ?? ((text) => void received.push(text.toString()))
        })
    ),
    (opened) => Effect.sync(() => opened.close())
  )
  return { connections, received, address: connections.addressAt(loopback, yield* portOf(connections.server)) }
})

/** Opens a connection from `one`, and resolves with it, or with the reason why it was lost first. */
const open = (one: DirectConnections, address: DirectAddress, onLost: (reason: string) => void = () => undefined) =>
  Effect.callback<{ readonly id: number; readonly send: (text: string) => void } | string>((resume) => {
    one.open(address, {
      onOpen: ({ id, send }) =>
        resume(Effect.succeed({ id, send: (text) => send(Buffer.from(text), () => undefined) })),
      onLost: (reason) => {
        onLost(reason)
        resume(Effect.succeed(reason))
      }
    })
  })

const opened = Effect.fnUntraced(function* (...args: Parameters<typeof open>) {
  const connection = yield* open(...args)
  assert.isObject(connection)
  return connection as Exclude<typeof connection, string>
})

/** The first bytes of a connection from `one`, with id 1. */
const greetingOf = (secret: Buffer) => Buffer.concat([secret, Buffer.from([0, 0, 0, 1, 3]), Buffer.from("one")])

/** The time in milliseconds until a connection that sends some bytes is closed. */
const timeToClose = ({ port }: DirectAddress, bytes: Uint8Array) =>
  Effect.callback<number>((resume) => {
    const begun = performance.now()
    const socket = connect({ host: loopback, port }, () => socket.write(bytes))
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(performance.now() - begun)))
  })

/** Two nodes that listen, and the reasons why connections were lost. */
const twoNodes = Effect.fnUntraced(function* (secure: boolean) {
  const lost: Array<string> = []
  const onLost = (reason: string) => void lost.push(reason)
  return { one: yield* listening("one", secure), two: yield* listening("two", secure), lost, onLost }
})
type TwoNodes = Effect.Success<ReturnType<typeof twoNodes>>

const onTwoNodes = (secure: boolean) => (title: string, body: TestBody<TwoNodes>) =>
  liveWith(twoNodes(secure))(title, body)

for (const secure of [false, true]) {
  describe(secure ? "an encrypted direct connection" : "a direct connection", () => {
    const live = onTwoNodes(secure)

    live("delivers messages in order, from the moment on when it is announced", function* ({ one, two }) {
      const { id, send } = yield* opened(one.connections, two.address)
      const long = "x".repeat(maxNodeMessageBytes - 1)
      for (let count = 0; count < 20; count++) send(`${count % 10}${count % 3 === 0 ? long : ""}`)
      yield* Effect.sleep("50 millis")
      assert.deepStrictEqual(two.received, [])
      two.connections.startReading("one", id)
      yield* until(() => two.received.length === 20)
      assert.strictEqual(two.received.map((text) => text.slice(0, 1)).join(""), "01234567890123456789")
      assert.deepStrictEqual(
        two.received.map(({ length }) => length),
        Array.from({ length: 20 }, (_, count) => (count % 3 === 0 ? maxNodeMessageBytes : 1))
      )
    })

    live("is refused to a node that does not know the secret", function* ({ one, two }) {
      assert.isString(yield* open(one.connections, { ...two.address, secret: one.address.secret }))
    })

    live("takes the place of an earlier one of its node, whose messages count no more", function* (nodes) {
      const { lost, one, onLost, two } = nodes
      const first = yield* opened(one.connections, two.address, onLost)
      const second = yield* opened(one.connections, two.address)
      yield* until(() => lost.length === 1)
      second.send("second")
      two.connections.startReading("one", first.id)
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      assert.deepStrictEqual(two.received, [])
      two.connections.startReading("one", second.id)
      yield* until(() => two.received.length === 1)
      assert.deepStrictEqual(two.received, ["second"])
    })

    live("is closed with either of its nodes", function* ({ lost, one, onLost, two }) {
      yield* opened(one.connections, two.address, onLost)
      yield* opened(two.connections, one.address, onLost)
      two.connections.close()
      yield* until(() => lost.length === 2)
    })

    live("reports its loss to the node that opened it", function* ({ lost, one, onLost, two }) {
      yield* opened(one.connections, two.address, onLost)
      two.connections.drop("one")
      yield* until(() => lost.length === 1)
    })
  })
}

describe("a node with direct connections", () => {
  const live = onTwoNodes(false)

  live("reports the loss of a connection whose other end does not answer", function* ({ lost, one, onLost, two }) {
    // The other end never reads.
    yield* opened(one.connections, two.address, onLost)
    yield* until(() => lost.length > 0)
    assert.deepStrictEqual(lost, ["it does not answer"])
  })

  live("opens no connection to another service", function* ({ one }) {
    const service = yield* Effect.acquireRelease(
      Effect.sync(() =>
        createServer((socket) => {
          // A socket that is not read keeps its connection after the peer has closed it.
          socket.resume().on("error", () => undefined)
          socket.write("220 ready\r\n")
        })
      ),
      (server) => Effect.sync(() => server.close())
    )
    const address = { ...one.address, port: yield* portOf(service) }
    assert.strictEqual(yield* open(one.connections, address), "it does not answer as a Server")
  })

  live("keeps a connection open that carries nothing", function* ({ lost, one, onLost, two }) {
    const { id } = yield* opened(one.connections, two.address, onLost)
    two.connections.startReading("one", id)
    yield* Effect.sleep("400 millis")
    assert.deepStrictEqual(lost, [])
  })

  live("closes a connection whose message is longer than allowed", function* ({ two: { address } }) {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(maxNodeMessageBytes + 1)
    yield* timeToClose(address, Buffer.concat([greetingOf(address.secret), length]))
  })

  live("closes a connection without a greeting after two seconds", function* ({ two: { address } }) {
    assert.isAtLeast(yield* timeToClose(address, address.secret), 1900)
  })

  live("closes a connection with a wrong secret at once", function* ({ two: { address } }) {
    const closed: Array<string> = []
    const close = (name: string, bytes: Uint8Array) =>
      Effect.forkScoped(
        Effect.map(timeToClose(address, bytes), () => void closed.push(name)),
        { startImmediately: true }
      )
    yield* close("silent", new Uint8Array())
    yield* close("wrong", greetingOf(Buffer.alloc(32)))
    yield* until(() => closed.length === 2)
    assert.deepStrictEqual(closed, ["wrong", "silent"])
  })

  live("takes at most 64 connections without a greeting", function* ({ two: { address } }) {
    const closed: Array<number> = []
    for (let index = 0; index < 65; index++) {
      yield* Effect.forkScoped(
        Effect.map(timeToClose(address, new Uint8Array()), (millis) => void closed.push(millis)),
        { startImmediately: true }
      )
    }
    yield* until(() => closed.length > 0)
    assert.strictEqual(closed.length, 1)
  })
})

const request = (from: NodeMessenger, node: string, event: string, value: unknown) =>
  Effect.callback<unknown>((resume) => {
    from.startRequest(node, memberOf(), event, jsonBody(value), Duration.minutes(1), (exit) =>
      resume(Effect.succeed(outcomeOf(exit)))
    )
  })

/** Nodes that publish to each other as Redis would, and count it; each takes direct connections at an address. */
const makeNetwork = () => {
  const nodes = new Map<string, NodeMessenger>()
  const published: Array<string> = []
  const warned: Array<string> = []
  const add = Effect.fnUntraced(function* (node: string, given: Partial<DirectAddress> = {}) {
    const { address, connections } = yield* listening(node, false, (message) => messenger.onMessage(message))
    const messenger: NodeMessenger = new NodeMessenger({
      node,
      tickMillis: 250,
      direct: { connections, address: { ...address, ...given } },
      publish: (to, message, onPublished) => {
        published.push(to)
        setImmediate(() => {
          const receiver = nodes.get(to)
          receiver?.onMessage(Buffer.from(message))
          onPublished(receiver === undefined ? 0 : 1)
        })
      },
      warn: (message) => void warned.push(message),
      onDefect: (error) => assert.fail(String(error))
    })
    nodes.set(node, messenger)
    messenger.onConnected()
    messenger.setHandler(makeEcho())
    return { connections, messenger }
  })
  return { add, published, warned }
}

/** A network of two nodes. */
const network = Effect.gen(function* () {
  const { add, published } = makeNetwork()
  const one = yield* add("one")
  const two = yield* add("two")
  /** Sends requests of the first node until it publishes none to the other one. */
  const untilDirect = (node = "two"): Effect.Effect<void> =>
    Effect.suspend(() => {
      const before = published.length
      return Effect.flatMap(request(one.messenger, node, "echo", 1), () =>
        published.length === before ? Effect.void : Effect.andThen(Effect.sleep("1 millis"), untilDirect(node))
      )
    })
  return { add, published, one, two, untilDirect }
})

const live = liveWith(network)

describe("a node that reaches another directly", () => {
  live("publishes only the first messages", function* ({ one, published, untilDirect }) {
    yield* untilDirect()
    const before = published.length
    const outcomes = yield* Effect.forEach(
      Array.from({ length: 100 }, (_, index) => index),
      (index) => request(one.messenger, "two", "echo", index % 10 === 0 ? "x".repeat(300_000) : index)
    )
    assert.deepStrictEqual([outcomes.length, published.length], [100, before])
  })

  live("keeps the order of notifications to a member from the first message on", function* ({ one, two, untilDirect }) {
    const received: Array<unknown> = []
    two.messenger.setHandler({
      ...makeEcho(),
      notify: (_sids, _event, body) => void received.push(valueOf(body))
    })
    let sent = 0
    while (sent < 400) {
      one.messenger.notify("two", ["sid"], "tell", jsonBody(sent++))
      if (sent % 4 === 0) yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    }
    yield* untilDirect()
    yield* until(() => received.length === 400)
    assert.deepStrictEqual(
      received,
      Array.from({ length: 400 }, (_, index) => index)
    )
  })

  live("fails the requests in flight when its connection is lost, and publishes the next ones", function* (nodes) {
    const { one, published, two, untilDirect } = nodes
    yield* untilDirect()
    const asking = yield* Effect.forkChild(request(one.messenger, "two", "never", 1), { startImmediately: true })
    yield* until(() => two.messenger.load().inboundRequests === 1)
    two.connections.drop("one")
    assert.strictEqual(yield* Fiber.join(asking), "NodeUnreachable")
    yield* until(() => two.messenger.load().inboundRequests === 0)
    const before = published.length
    assert.deepStrictEqual(yield* request(one.messenger, "two", "echo", "again"), ["again"])
    assert.isAbove(published.length, before)
  })
})

describe("a node that has lost a direct connection", () => {
  /** Two nodes that had a direct connection, which the second one has closed, and what the first one publishes since then. */
  const afterLoss = Effect.gen(function* () {
    const { one, published, two, untilDirect } = yield* network
    yield* untilDirect()
    two.connections.drop("one")
    yield* until(() => one.messenger.load().directNodes === 0)
    const again = request(one.messenger, "two", "echo", "again")
    /** Whether a request is published. */
    const publishes = Effect.suspend(() => {
      const before = published.length
      return Effect.map(again, () => published.length > before)
    })
    /** Sends requests until the first node has a direct connection. The second one may also have lost its own. */
    const untilConnected: Effect.Effect<void> = Effect.suspend(() =>
      one.messenger.load().directNodes === 1
        ? Effect.void
        : Effect.andThen(again, Effect.andThen(Effect.sleep("1 millis"), untilConnected))
    )
    return { one, again, publishes, untilConnected }
  })

  it.live("opens no other one to this node for a minute, and then a new one while requests go on", () =>
    Effect.gen(function* () {
      const { again, one, publishes, untilConnected } = yield* afterLoss
      for (let tick = 1; tick < 240; tick++) {
        one.messenger.tick()
        if (tick % 60 === 0) yield* again
      }
      yield* Effect.sleep("50 millis")
      assert.isTrue(yield* publishes)
      assert.strictEqual(one.messenger.load().directNodes, 0)
      one.messenger.tick()
      yield* untilConnected
    })
  )

  it.live("opens a new one to an idle node with the first request after a minute", () =>
    Effect.gen(function* () {
      const { one, publishes, untilConnected } = yield* afterLoss
      for (let tick = 1; tick <= 240; tick++) one.messenger.tick()
      assert.strictEqual(one.messenger.load().directNodes, 0)
      assert.isTrue(yield* publishes)
      yield* untilConnected
    })
  )

  live("keeps its direct connections to other nodes", function* ({ add, one, published, two, untilDirect }) {
    yield* add("three")
    yield* untilDirect()
    yield* untilDirect("three")
    two.connections.drop("one")
    yield* until(() => one.messenger.load().directNodes === 1)
    const before = published.length
    assert.deepStrictEqual(yield* request(one.messenger, "three", "echo", "still"), ["still"])
    assert.strictEqual(published.length, before)
  })
})

describe("a node that has removed an idle peer", () => {
  live("connects to it again", function* ({ one, two, untilDirect }) {
    yield* untilDirect()
    yield* until(() => two.messenger.load().directNodes === 1)
    // A minute of ticks, at one end only.
    for (let tick = 0; tick <= 240; tick++) two.messenger.tick()
    assert.strictEqual(two.messenger.load().directNodes, 0)
    assert.deepStrictEqual(yield* request(one.messenger, "two", "echo", "again"), ["again"])
    yield* untilDirect()
    assert.strictEqual(two.messenger.load().directNodes, 1)
  })
})

describe("a node that cannot reach another directly", () => {
  it.live("publishes its messages, and warns once", () =>
    Effect.gen(function* () {
      const closed = createServer()
      const port = yield* portOf(closed)
      yield* Effect.promise(() => new Promise<unknown>((resolve) => closed.close(resolve)))
      const { add, warned } = makeNetwork()
      const one = yield* add("one")
      yield* add("two", { port })
      yield* request(one.messenger, "two", "echo", 1)
      yield* until(() => warned.length > 0)
      assert.deepStrictEqual(yield* request(one.messenger, "two", "echo", "x"), ["x"])
      assert.deepStrictEqual(warned, ["no direct connection to another node"])
    })
  )
})
