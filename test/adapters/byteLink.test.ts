import { assert, describe, it } from "@effect/vitest"
import { Deferred, type Duration, Effect, Exit, Fiber, Layer, Logger, Queue, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryBytes from "../../src/adapters/memory/MemoryByteLink.ts"
import * as TcpConnector from "../../src/adapters/tcp/TcpConnector.ts"
import * as TcpListener from "../../src/adapters/tcp/TcpListener.ts"
import {
  ByteConnector,
  type ByteLink,
  ByteListener,
  type ByteListenOptions
} from "../../src/application/ports/ByteLink.ts"
import { loopbackAddress, whenPortIsFree } from "../loopbackAddress.ts"

const host = "127.0.0.1"
const kib = 1024
const mib = 1024 * kib

/** Bytes without repeated chunks. */
const pattern = (size: number, seed = 0): Uint8Array => {
  const bytes = new Uint8Array(size)
  for (let index = 0; index < size; index++) bytes[index] = (index * 31 + (index >> 8) * 7 + seed) % 251
  return bytes
}

const join = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => new Uint8Array(Buffer.concat(pieces))
const readAll = ({ bytes }: ByteLink) => Effect.map(Stream.runCollect(bytes), join)
const countAll = ({ bytes }: ByteLink) =>
  Stream.runFold(
    bytes,
    () => 0,
    (sum, { length }) => sum + length
  )
/** Reads at least so many bytes. Call it once per link. */
const readSome = ({ bytes }: ByteLink, size: number) => {
  let missing = size
  return Effect.map(Stream.runCollect(Stream.takeUntil(bytes, ({ length }) => (missing -= length) <= 0)), join)
}
const reasonOf = (send: ReturnType<ByteLink["send"]>) => Effect.map(Effect.flip(send), ({ reason }) => reason)
const echo = ({ bytes, send }: ByteLink) => Effect.ignore(Stream.runForEach(bytes, send))

/** Runs pending I/O, due timers and fibers. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
/** Waits until a number has stopped growing. */
const settled = Effect.fnUntraced(function* (read: () => number) {
  for (let before = -1, calm = 0; calm < 100; calm++) {
    if (read() !== before) calm = 0
    before = read()
    yield* turn
  }
})
const begin = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** Opens a listener in a separate scope. */
const open = Effect.fnUntraced(function* (
  serve: (link: ByteLink) => Effect.Effect<void>,
  options: Partial<ByteListenOptions> = {}
) {
  const home = yield* Scope.fork(yield* Effect.scope)
  const place = yield* ByteListener.use(({ listen }) =>
    listen({ host, port: 0, maxConnections: 1000, ...options }, serve)
  ).pipe(Scope.provide(home))
  return {
    ...place,
    stop: Scope.close(home, Exit.void),
    connect: ByteConnector.use(({ connect }) => connect(place))
  }
})

/** Both ends of one link: `close` ends the near one, `release` ends the handler of the far one. */
const pair = Effect.gen(function* () {
  const arrived = yield* Deferred.make<ByteLink>()
  const released = yield* Deferred.make<void>()
  const site = yield* open((link) => Effect.andThen(Deferred.succeed(arrived, link), Deferred.await(released)))
  const scope = yield* Scope.fork(yield* Effect.scope)
  const near = yield* Scope.provide(site.connect, scope)
  const release = Deferred.succeed(released, undefined)
  yield* Effect.addFinalizer(() => release)
  return {
    ...site,
    near,
    far: yield* Deferred.await(arrived),
    close: Scope.close(scope, Exit.void),
    release
  }
})

type World = ByteListener | ByteConnector

interface Kind {
  readonly run: (title: string, body: () => Effect.fn.Return<void, unknown, Scope.Scope | World>) => void
  /** Advances a virtual clock. */
  readonly pass: (time: Duration.Input) => Effect.Effect<void>
  /** Bytes that a sender may be ahead of the reader. */
  readonly maxBufferedBytes: number
  /** Open handles of the operating system. */
  readonly handles: () => number
}

/** The contract of every byte link. */
const contract = (name: string, { handles, maxBufferedBytes, pass, run }: Kind) => {
  describe(name, () => {
    run("delivers bytes in order, in chunks of any size, in both directions at once", function* () {
      const { connect } = yield* open(echo)
      const near = yield* connect
      const parts = [1, 0, 64 * kib - 1, 64 * kib, 64 * kib + 1, 4 * mib, 3].map(pattern)
      const all = join(parts)
      const reading = yield* begin(readSome(near, all.length))
      for (const part of parts) yield* near.send(part)
      assert.isTrue(Buffer.from(all).equals(yield* Fiber.join(reading)))
    })

    run("shows the address of its peer", function* () {
      const { far, near } = yield* pair
      assert.deepStrictEqual([near.remoteAddress, far.remoteAddress], [host, host])
    })

    run("delivers sent bytes before the end, even to a late reader", function* () {
      const { close, far, near } = yield* pair
      yield* near.send(pattern(48 * kib))
      yield* begin(close)
      assert.deepStrictEqual(yield* readAll(far), pattern(48 * kib))
    })

    run("reports to both ends which of them closed it", function* () {
      const { close, far, near, release } = yield* pair
      const closing = yield* begin(close)
      assert.deepStrictEqual(yield* readAll(far), new Uint8Array())
      yield* release
      yield* Fiber.join(closing)
      assert.strictEqual(yield* near.closed, "closed locally")
      assert.strictEqual(yield* far.closed, "closed by peer")
    })

    run("sends and reads nothing after its close", function* () {
      const { close, far, near, release } = yield* pair
      yield* far.send(pattern(10))
      yield* release
      yield* close
      assert.match(yield* reasonOf(near.send(pattern(1))), /^closed (locally|by peer)$/)
      assert.deepStrictEqual(yield* readAll(near), new Uint8Array())
    })

    run("fails a send after the peer has closed", function* () {
      const { far, near, release } = yield* pair
      yield* release
      yield* readAll(near)
      yield* pass("1 second")
      yield* far.closed
      const reason = yield* reasonOf(Effect.forever(Effect.andThen(near.send(pattern(10)), turn)))
      assert.match(reason, /^(connection reset|closed by peer)$/)
      assert.strictEqual(yield* near.closed, reason)
    })

    run("blocks the sender until the peer reads", function* () {
      const { close, far, near } = yield* pair
      let sent = 0
      const part = pattern(mib)
      const count = 64
      yield* begin(
        Effect.andThen(
          Effect.repeat(
            Effect.tap(near.send(part), () => Effect.sync(() => sent++)),
            { times: count - 1 }
          ),
          close
        )
      )
      yield* settled(() => sent)
      assert.isBelow(sent, count)
      assert.strictEqual(yield* countAll(far), count * mib)
      assert.strictEqual(sent, count)
    })

    run("buffers no more than a few chunks for a slow reader", function* () {
      const { far, near } = yield* pair
      let sent = 0
      let taken = 0
      let ahead = 0
      const part = pattern(64 * kib)
      yield* begin(Effect.forever(Effect.tap(near.send(part), () => Effect.sync(() => (sent += part.length)))))
      const slowly = Effect.fnUntraced(function* ({ length }: Uint8Array) {
        taken += length
        ahead = Math.max(ahead, sent - taken)
        yield* turn
        yield* turn
      })
      yield* Stream.runForEach(
        Stream.takeWhile(far.bytes, () => taken < 2 * maxBufferedBytes),
        slowly
      )
      assert.isBelow(ahead, maxBufferedBytes)
    })

    run("delivers the same bytes when a blocked send is interrupted", function* () {
      const { far, near } = yield* pair
      const parts = [pattern(16 * mib), pattern(10, 1), pattern(100 * kib, 2)] as const
      for (const part of parts) yield* Fiber.interrupt(yield* begin(near.send(part)))
      const reading = yield* begin(readSome(far, join(parts).length))
      assert.isTrue(Buffer.from(join(parts)).equals(yield* Fiber.join(reading)))
    })

    run("fails a blocked send at once when it closes", function* () {
      const { close, near } = yield* pair
      const sending = yield* begin(reasonOf(near.send(pattern(16 * mib))))
      yield* begin(close)
      assert.strictEqual(yield* Fiber.join(sending), "closed locally")
    })

    run("delivers the last bytes of a handler that left input unread", function* () {
      const words = pattern(mib)
      const { connect } = yield* open(({ send }) => Effect.orDie(send(words)))
      const near = yield* connect
      const flooding = yield* begin(Effect.ignore(near.send(pattern(16 * mib))))
      assert.isTrue(Buffer.from(words).equals(yield* readAll(near)))
      yield* Fiber.join(flooding)
    })

    run("stays open after the peer has closed, until its handler ends", function* () {
      const gone: Array<string> = []
      const { close, far, release } = yield* pair
      yield* Effect.forkChild(Effect.map(far.closed, (reason) => gone.push(reason)))
      const closing = yield* begin(close)
      yield* readAll(far)
      yield* turn
      assert.deepStrictEqual(gone, [])
      yield* release
      yield* far.closed
      yield* Fiber.join(closing)
    })

    run("interrupts handlers, closes links and frees the port with the listener's scope", function* () {
      const interrupted = yield* Deferred.make<void>()
      const address = loopbackAddress()
      const { connect, stop } = yield* open(
        ({ bytes }) => Effect.onInterrupt(Stream.runDrain(bytes), () => Deferred.succeed(interrupted, undefined)),
        address
      )
      const scope = yield* Scope.make()
      const near = yield* Scope.provide(connect, scope)
      const stopping = yield* begin(stop)
      yield* Deferred.await(interrupted)
      assert.deepStrictEqual(yield* readAll(near), new Uint8Array())
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(stopping)
      const refused = yield* whenPortIsFree(Effect.flip(connect))
      assert.strictEqual(refused._tag, "Unreachable")
      assert.strictEqual(refused.message, `Cannot reach ${address.host}:${address.port}: connection refused`)
      const again = ByteListener.use(({ listen }) => listen({ ...address, maxConnections: 1 }, echo))
      assert.deepStrictEqual(yield* whenPortIsFree(again), address)
    })

    run("delays the end of the listener's scope by at most one second for a peer that does not read", function* () {
      const { connect, stop } = yield* open(({ send }) => Effect.ignore(Effect.forever(send(pattern(mib)))))
      const near = yield* connect
      const stopping = yield* begin(stop)
      yield* pass("1 second")
      yield* Fiber.join(stopping)
      yield* countAll(near)
    })

    run("closes new links beyond the limit, until another link ends", function* () {
      const served = yield* Queue.unbounded<ByteLink>()
      const { connect } = yield* open((link) => Effect.andThen(Queue.offer(served, link), echo(link)), {
        maxConnections: 2
      })
      const scope = yield* Scope.make()
      yield* Scope.provide(connect, scope)
      const first = yield* Queue.take(served)
      const second = yield* connect
      yield* Queue.take(served)

      const third = yield* connect
      assert.deepStrictEqual(yield* readAll(third), new Uint8Array())

      yield* Scope.close(scope, Exit.void)
      yield* first.closed
      const fourth = yield* connect
      for (const link of [second, fourth]) {
        yield* link.send(pattern(10))
        assert.deepStrictEqual(yield* readSome(link, 10), pattern(10))
      }
    })

    run("fails to listen on an address twice", function* () {
      const { port } = yield* open(echo)
      const failed = yield* Effect.flip(
        ByteListener.use(({ listen }) => listen({ host, port, maxConnections: 1 }, echo))
      )
      assert.strictEqual(failed._tag, "ListenError")
      assert.strictEqual(failed.message, `Cannot listen on ${host}:${port}: the address is in use`)
    })

    run("gets different free ports for two listeners", function* () {
      const [one, two] = yield* Effect.all([open(echo), open(echo)])
      assert.notStrictEqual(one.port, two.port)
      assert.isAbove(Math.min(one.port, two.port), 0)
    })

    run("logs a defect of its handler and ends no other link", function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(message))
      const serve = (link: ByteLink) =>
        Stream.runForEach(link.bytes, (piece) =>
          piece[0] === 0 ? Effect.die("a bug") : Effect.ignore(link.send(piece))
        )
      const { connect } = yield* Effect.provide(open(serve), Logger.layer([logger]))
      const [good, bad] = yield* Effect.all([connect, connect])
      yield* bad.send(Uint8Array.of(0))
      assert.deepStrictEqual(yield* readAll(bad), new Uint8Array())
      yield* good.send(Uint8Array.of(1))
      assert.deepStrictEqual(yield* readSome(good, 1), Uint8Array.of(1))
      assert.deepStrictEqual(lines, [["connection handler failed", { remoteAddress: host }, "a bug"]])
    })

    run("leaves no resources after thousands of links", function* () {
      const { connect, stop } = yield* open(echo)
      const visit = Effect.scoped(
        Effect.gen(function* () {
          const near = yield* connect
          yield* near.send(pattern(10))
          assert.deepStrictEqual(yield* readSome(near, 10), pattern(10))
        })
      )
      yield* Effect.all(Array<typeof visit>(3000).fill(visit), { concurrency: 20, discard: true })
      yield* stop
      while (handles() > 0) yield* turn
    })
  })
}

const handles = (): number => process.getActiveResourcesInfo().filter((resource) => resource.startsWith("TCP")).length

describe("ByteLink", () => {
  contract("in memory", {
    run: (title, body) =>
      it.effect(title, () =>
        Effect.gen(function* () {
          const scope = yield* Scope.make()
          const exit = yield* Effect.exit(Scope.provide(Effect.gen(body), scope))
          const closing = yield* begin(Scope.close(scope, exit))
          yield* TestClock.adjust("10 seconds") // time for unread bytes
          yield* Fiber.join(closing)
          yield* exit
        }).pipe(Effect.provide(MemoryBytes.layer, { local: true }))
      ),
    pass: TestClock.adjust,
    maxBufferedBytes: mib,
    handles: () => 0
  })
  contract("over TCP", {
    run: (title, body) =>
      it.live(title, () => Effect.provide(Effect.gen(body), Layer.merge(TcpListener.layer, TcpConnector.layer))),
    pass: () => Effect.void,
    maxBufferedBytes: 48 * mib,
    handles
  })
})
