import { connect, type Socket } from "node:net"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as TcpConnector from "../../../src/adapters/tcp/TcpConnector.ts"
import * as TcpListener from "../../../src/adapters/tcp/TcpListener.ts"
import { ByteConnector, type ByteLink, ByteListener } from "../../../src/application/ports/ByteLink.ts"

const host = "127.0.0.1"
const world = Layer.merge(TcpListener.layer, TcpConnector.layer)
type TcpTest = () => Effect.fn.Return<void, unknown, Scope.Scope | ByteListener | ByteConnector>
const live = (title: string, body: TcpTest) => it.live(title, () => Effect.provide(Effect.gen(body), world))

const begin = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })
const happens = (socket: Socket, event: string) =>
  Effect.callback<void>((resume) => void socket.once(event, () => resume(Effect.void)))
const handles = (): number => process.getActiveResourcesInfo().filter((resource) => resource.startsWith("TCP")).length
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Listens for one link, whose handler ends with `release`. */
const site = Effect.fnUntraced(function* (listenOn = host) {
  const arrived = yield* Deferred.make<ByteLink>()
  const released = yield* Deferred.make<void>()
  const { port } = yield* ByteListener.use(({ listen }) =>
    listen({ host: listenOn, port: 0, maxConnections: 10 }, (link) =>
      Effect.andThen(Deferred.succeed(arrived, link), Deferred.await(released))
    )
  )
  return { port, link: Deferred.await(arrived), release: Deferred.succeed(released, undefined) }
})

/** A link to a raw socket of Node, which may misbehave. */
const accepted = Effect.fnUntraced(function* (listenOn = host) {
  const { link, port, release } = yield* site(listenOn)
  const peer = yield* Effect.acquireRelease(
    Effect.sync(() => connect({ host, port, allowHalfOpen: true })),
    (socket) => Effect.sync(() => socket.destroy())
  )
  return { link: yield* link, peer, release }
})

const pair = Effect.gen(function* () {
  const { link, port, release } = yield* site()
  const near = yield* ByteConnector.use((connector) => connector.connect({ host, port }))
  return { link: yield* link, near, release }
})

describe("TCP", () => {
  live("reports a reset and fails blocked sends at once", function* () {
    const { link, peer } = yield* accepted()
    const sending = yield* begin(Effect.flip(link.send(new Uint8Array(32 * 1024 ** 2))))
    const reading = yield* begin(Stream.runDrain(link.bytes))
    peer.resetAndDestroy()
    assert.strictEqual((yield* Fiber.join(sending)).message, "Connection closed: connection reset")
    yield* Fiber.join(reading)
    assert.strictEqual(yield* link.closed, "connection reset")
  })

  live("delivers bytes that arrived before a reset", function* () {
    const { link, peer } = yield* accepted()
    const words = new Uint8Array(10 * 1024).fill(7)
    yield* Effect.callback<void>((resume) => void peer.write(words, () => resume(Effect.void)))
    peer.resetAndDestroy()
    assert.strictEqual(yield* link.closed, "connection reset")
    assert.deepStrictEqual(yield* Stream.runCollect(link.bytes), [words])
  })

  live("receives bytes after its own end", function* () {
    const { link, peer, release } = yield* accepted()
    peer.end("question")
    assert.strictEqual(yield* Stream.mkString(Stream.decodeText(link.bytes)), "question")
    const received: Array<string> = []
    peer.setEncoding("utf8").on("data", (text: string) => received.push(text))
    yield* turn
    yield* link.send(Buffer.from("answer"))
    const ended = yield* begin(happens(peer, "end"))
    yield* release
    yield* Fiber.join(ended)
    assert.deepStrictEqual(received, ["answer"])
    assert.strictEqual(yield* link.closed, "closed by peer")
  })

  live("delivers the last bytes to a late reader that keeps sending", function* () {
    const { link, near, release } = yield* pair
    const words = new Uint8Array(100 * 1024).fill(7)
    yield* begin(near.send(new Uint8Array(16 * 1024 ** 2)))
    yield* link.send(words)
    yield* release
    yield* link.closed
    assert.deepStrictEqual(new Uint8Array(Buffer.concat(yield* Stream.runCollect(near.bytes))), words)
  })

  live("shows IPv4 addresses as such on a dual-stack listener", function* () {
    const { link } = yield* accepted("::")
    assert.strictEqual(link.remoteAddress, host)
  })

  live("explains an invalid port", function* () {
    const to = { host, port: 65_536 }
    const failures = [
      yield* Effect.flip(ByteConnector.use((connector) => connector.connect(to))),
      yield* Effect.flip(ByteListener.use(({ listen }) => listen({ ...to, maxConnections: 1 }, () => Effect.void)))
    ]
    assert.deepStrictEqual(
      failures.map(({ message }) => message),
      ["Cannot reach 127.0.0.1:65536: invalid port", "Cannot listen on 127.0.0.1:65536: invalid port"]
    )
  })

  /** A port that accepts no connection: its program never calls accept, and its queue is full. */
  const silentPort = Effect.gen(function* () {
    const blocked = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Worker(
            `const { createServer } = require("node:net")
             const { parentPort } = require("node:worker_threads")
             const server = createServer().listen({ port: 0, host: "${host}", backlog: 1 }, () => {
               parentPort.postMessage(server.address().port)
               Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
             })`,
            { eval: true }
          )
      ),
      (worker) => Effect.promise(() => worker.terminate())
    )
    const port = yield* Effect.callback<number>((resume) => {
      blocked.once("message", (taken: number) => resume(Effect.succeed(taken)))
    })
    for (let count = 0; count < 2; count++) {
      const filler = yield* Effect.acquireRelease(
        Effect.sync(() => connect({ host, port })),
        (socket) => Effect.sync(() => socket.destroy())
      )
      yield* happens(filler, "connect")
    }
    return port
  })

  it.effect("fails to connect after ten seconds without a reply", () =>
    Effect.gen(function* () {
      const port = yield* silentPort
      const connecting = yield* begin(Effect.flip(ByteConnector.use((connector) => connector.connect({ host, port }))))
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(connecting.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const { message } = yield* Fiber.join(connecting)
      assert.strictEqual(message, `Cannot reach ${host}:${port}: connection timed out`)
    }).pipe(Effect.scoped, Effect.provide(world))
  )

  live("leaves no resources after an interrupted connect", function* () {
    while (handles() > 0) yield* turn // of tests before this one
    const port = yield* silentPort
    const before = handles()
    const connecting = yield* begin(ByteConnector.use((connector) => connector.connect({ host, port })))
    assert.isAbove(handles(), before)
    yield* Fiber.interrupt(connecting)
    while (handles() > before) yield* turn
  })
})
