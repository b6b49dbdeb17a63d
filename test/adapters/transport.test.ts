import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Queue, Result, Scope } from "effect"
import * as Memory from "../../src/adapters/memory/MemoryTransport.ts"
import * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../../src/adapters/socketio/RelayServer.ts"
import { type Body, jsonBody } from "../../src/application/ports/Body.ts"
import {
  AdmissionRejected,
  type Handshake,
  type Link,
  type MessageHandler,
  TransportClient,
  TransportServer
} from "../../src/application/ports/Transport.ts"
import { connectTcp } from "../../src/adapters/tcp/transport/connectTcp.ts"
import { listenTcp } from "../../src/adapters/tcp/transport/tcpServer.ts"
import { definedOnly } from "../../src/domain/objects.ts"
import { engines } from "./socketio/engines.ts"
import { loopbackAddress } from "../loopbackAddress.ts"
import { until } from "../until.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import { ServerMetrics } from "../../src/application/server/observability/ServerMetrics.ts"
import { type TestBody, liveWith } from "../testWith.ts"

const limit = 100_000
const minute = Duration.minutes(1)
type ConnectOptions = Parameters<TransportClient["Service"]["connect"]>[0]
const valueOf = ({ head }: Body) => Result.getOrElse(head, ({ code }) => `fault ${code}`)

interface Accepted {
  readonly link: Link
  readonly closed: Deferred.Deferred<void>
  readonly handshake: Handshake
}

/** A server that exposes its ends of links, and a function that connects to it. */
interface Site {
  readonly connect: (
    onMessage?: MessageHandler,
    auth?: JsonObject
  ) => Effect.Effect<Link, { readonly _tag: string }, Scope.Scope>
  /** The server's end of the next link, the end of its scope, and its handshake. */
  readonly accepted: Effect.Effect<Accepted>
  readonly stop: Effect.Effect<void>
  /** Pending admissions that never end. */
  readonly judged: () => number
}

const echo: MessageHandler = (event, body) =>
  Effect.succeed(event === "nothing" ? [] : event === "two" ? [body, jsonBody(null)] : [body])

const open = (
  transport: Layer.Layer<TransportServer>,
  client: (url: string) => Layer.Layer<TransportClient>,
  onMessage: MessageHandler = echo
): Effect.Effect<Site, never, Scope.Scope> =>
  Effect.gen(function* () {
    const accepted = yield* Queue.unbounded<Accepted>()
    const home = yield* Scope.fork(yield* Effect.scope)
    let judged = 0
    const judging = Effect.acquireUseRelease(
      Effect.sync(() => (judged += 1)),
      () => Effect.never,
      () => Effect.sync(() => (judged -= 1))
    )
    const { url } = yield* TransportServer.use(({ serve }) =>
      serve(
        Effect.fnUntraced(function* (link, handshake) {
          const { auth } = handshake
          if ((auth as JsonObject)["bad"] === true) {
            return yield* new AdmissionRejected({ code: 401, message: "not you" })
          }
          if ((auth as JsonObject)["odd"] === true) return yield* judging
          const closed = yield* Deferred.make<void>()
          yield* Effect.addFinalizer(() => Deferred.succeed(closed, undefined))
          yield* Queue.offer(accepted, { link, closed, handshake })
          return onMessage
        })
      )
    ).pipe(Effect.provide(transport, { local: true }), Scope.provide(home), Effect.orDie)
    return {
      accepted: Queue.take(accepted),
      stop: Scope.close(home, Exit.void),
      judged: () => judged,
      connect: (onMessage = echo, auth = {}) =>
        TransportClient.use(({ connect }) => connect({ version: "0.2.0", auth, onMessage })).pipe(
          Effect.provide(client(url), { local: true })
        )
    }
  })

type Open = (onMessage?: MessageHandler) => Effect.Effect<Site, never, Scope.Scope>

const inMemory: Open = (onMessage) =>
  Effect.flatMap(Layer.build(Layer.fresh(Memory.layer({ maxMessageBytes: limit }))), (context) => {
    const both = Layer.succeedContext(context)
    return open(both, () => both, onMessage)
  })

const overSocketIo =
  (server: (typeof engines)[number][1], transports: ReadonlyArray<"polling" | "websocket">): Open =>
  (onMessage) =>
    open(
      Layer.provide(server({ ...loopbackAddress(), maxMessageBytes: limit }), ServerMetrics.layerNone),
      (url) => SocketIoClient.layer({ url, transports }),
      onMessage
    )

/** With a key, over TLS. */
const overTcp =
  (key?: Buffer): Open =>
  (onMessage) =>
    Effect.gen(function* () {
      const { host, port } = loopbackAddress()
      const server = yield* Effect.orDie(listenTcp({ host, port, maxMessageBytes: limit, ...definedOnly({ key }) }))
      const client = {
        connect: (options: ConnectOptions) => connectTcp({ host, port: server.port, ...definedOnly({ key }) }, options)
      }
      return yield* open(
        Layer.succeed(TransportServer, { serve: server.serve }),
        () => Layer.succeed(TransportClient, client),
        onMessage
      )
    })

const request = (link: Link, event: string, value: unknown = {}, timeout = minute) =>
  Effect.map(link.request(event, jsonBody(value), timeout), (reply) => reply.map(valueOf))
const failureOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), ({ _tag }) => _tag)

/** The handlers of both ends of a link; both echo by default. */
interface Handlers {
  readonly onServer?: MessageHandler
  readonly onMember?: MessageHandler
}

/** The contract of every transport. */
const contract = (name: string, start: Open) => {
  /** A site with one member, and the Server's end of its link. */
  const linked = Effect.fnUntraced(function* ({ onMember, onServer }: Handlers = {}) {
    const site = yield* start(onServer)
    const member = yield* site.connect(onMember)
    const { closed, link: server } = yield* site.accepted
    return { site, member, server, closed: Deferred.await(closed) }
  })
  type Linked = Effect.Success<ReturnType<typeof linked>>
  const live = (title: string, handlers: Handlers, body: TestBody<Linked>) => liveWith(linked(handlers))(title, body)

  describe(name, () => {
    live("sends requests in both directions and delivers reply values in order", {}, function* ({ member, server }) {
      for (const link of [member, server]) {
        assert.deepStrictEqual(yield* request(link, "one", { a: ["ü", 1, null] }), [{ a: ["ü", 1, null] }])
        assert.deepStrictEqual(yield* request(link, "two", { a: 1 }), [{ a: 1 }, null])
        assert.deepStrictEqual(yield* request(link, "nothing"), [])
      }
      assert.strictEqual(member.id, server.id)
    })

    live("interrupts the admission of a member that leaves", {}, function* ({ site }) {
      const attempt = yield* Effect.forkChild(Effect.scoped(site.connect(echo, { odd: true })), {
        startImmediately: true
      })
      yield* until(() => site.judged() === 1)
      yield* Fiber.interrupt(attempt)
      yield* until(() => site.judged() === 0)
    })

    it.live("delivers messages in order", () =>
      Effect.gen(function* () {
        const received: Array<unknown> = []
        const { member } = yield* linked({
          onServer: (_, body) => Effect.sync(() => [jsonBody(received.push(valueOf(body)))])
        })
        for (let count = 1; count < 50; count++) yield* member.notify("count", jsonBody(count))
        yield* request(member, "last", 50)
        assert.deepStrictEqual(
          received,
          Array.from({ length: 50 }, (_, index) => index + 1)
        )
      })
    )

    const onNever: MessageHandler = (event, body) => (event === "never" ? Effect.never : Effect.succeed([body]))
    live(
      "fails a request without a reply at its timeout and keeps the link",
      { onServer: onNever },
      function* ({ member }) {
        assert.strictEqual(
          yield* failureOf(member.request("never", jsonBody({}), Duration.millis(50))),
          "RequestTimeout"
        )
        assert.deepStrictEqual(yield* request(member, "one", 1), [1])
      }
    )

    const onLate: MessageHandler = (event, body) =>
      event === "late" ? Effect.delay(Effect.succeed([body]), "150 millis") : Effect.never
    const late = { onServer: onLate, onMember: onLate }
    live("extends a request at its timeout, in both directions", late, function* ({ member, server }) {
      for (const link of [member, server]) {
        let extensions = 0
        const extend = () => (extensions++ === 0 ? Duration.seconds(20) : Duration.zero)
        const late = yield* link.request("late", jsonBody(1), Duration.millis(40), extend)
        assert.deepStrictEqual(late.map(valueOf), [1])
        assert.strictEqual(extensions, 1)
        let left = 2
        const finite = () => (left-- > 0 ? Duration.millis(10) : Duration.zero)
        const never = link.request("never", jsonBody({}), Duration.millis(10), finite)
        assert.strictEqual(yield* failureOf(never), "RequestTimeout")
        assert.strictEqual(left, -1)
      }
    })

    it.live("ends pending requests at the other end when a member closes", () =>
      Effect.gen(function* () {
        const stopped = yield* Deferred.make<void>()
        const reached = yield* Deferred.make<void>()
        const scope = yield* Scope.make()
        const onServer = () =>
          Deferred.succeed(reached, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
          )
        const site = yield* start(onServer)
        const member = yield* Scope.provide(
          site.connect(() => Effect.never),
          scope
        )
        const { closed, link: server } = yield* site.accepted
        const here = yield* Effect.forkChild(failureOf(member.request("x", jsonBody({}), minute)))
        const there = yield* Effect.forkChild(failureOf(server.request("x", jsonBody({}), minute)))
        yield* Deferred.await(reached)
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* Fiber.joinAll([here, there]), ["LinkClosed", "LinkClosed"])
        yield* Deferred.await(stopped)
        yield* Deferred.await(closed)
        assert.strictEqual(yield* server.closed, "client_disconnect")
        assert.strictEqual(yield* failureOf(server.request("x", jsonBody({}), minute)), "LinkClosed")
        assert.strictEqual(yield* failureOf(server.notify("x", jsonBody({}))), "LinkClosed")
      })
    )

    const silent = { onServer: () => Effect.never }
    live(
      "closes links and accepts no members when the server stops",
      silent,
      function* ({ closed, member, server, site }) {
        const asking = yield* Effect.forkChild(failureOf(member.request("x", jsonBody({}), minute)))
        yield* site.stop
        assert.strictEqual(yield* server.closed, "server_shutdown")
        assert.strictEqual(yield* Fiber.join(asking), "LinkClosed")
        yield* closed
        assert.isString(yield* member.closed)
        assert.strictEqual(yield* failureOf(Effect.scoped(site.connect())), "Unreachable")
      }
    )

    live(
      "closes a link of one member at the server for its reason, and no other",
      {},
      function* ({ closed, member, server, site }) {
        const other = yield* site.connect()
        yield* server.close("idle")
        assert.strictEqual(yield* server.closed, "idle")
        yield* closed
        yield* member.closed
        assert.deepStrictEqual(yield* request(other, "one", 1), [1])
      }
    )

    live("hands over the version, the credentials and the address of a member", {}, function* ({ site }) {
      yield* site.connect(echo, { key: "mine" })
      const { auth, remoteAddress, version } = (yield* site.accepted).handshake
      assert.deepStrictEqual([auth, version], [{ key: "mine" }, { major: 0, minor: 2, patch: 0 }])
      assert.match(remoteAddress, /127\.0\.0\.1$|^memory$/)
    })

    live("reports the reason of a rejected admission", {}, function* ({ site }) {
      const refused = yield* Effect.flip(site.connect(echo, { bad: true }))
      assert.deepInclude<object>(refused, { _tag: "AdmissionRejected", code: 401, message: "not you" })
    })

    live("rejects bodies that it cannot send", {}, function* ({ member }) {
      assert.isFalse(member.fits(jsonBody("x".repeat(limit + 1))))
      assert.strictEqual(yield* failureOf(member.notify("x", jsonBody("x".repeat(limit + 1)))), "SendFailed")
      assert.strictEqual(yield* failureOf(request(member, "x", 10n)), "SendFailed")
      const large = "ü".repeat(40_000)
      assert.deepStrictEqual(yield* request(member, "one", large), [large])
    })

    const hostile = JSON.parse('{"__proto__":{}}') as unknown
    const odd: Handlers = {
      onServer: (_, body) => Effect.succeed([jsonBody(valueOf(body))]),
      onMember: () => Effect.succeed([jsonBody(hostile)])
    }
    live("turns hostile values into invalid bodies, in requests and in replies", odd, function* ({ member, server }) {
      assert.deepStrictEqual(yield* request(member, "x", hostile), ["fault 400"])
      assert.deepStrictEqual(yield* request(server, "x"), ["fault 400"])
    })

    live(
      "delivers a name with an escape unchanged after a text with a backslash as name",
      {},
      function* ({ member, server }) {
        for (const [first, link] of [
          ["of the member", member],
          ["of the server", server]
        ] as const) {
          JSON.parse(`{"${first}":1,"\\\\":2}`)
          const [reply] = yield* request(link, "one", { [first]: 1, "\n": 2 })
          assert.deepStrictEqual(Object.keys(reply as JsonObject), [first, "\n"])
        }
      }
    )

    it.live("ignores the late reply of a cancelled request", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const reached = yield* Deferred.make<void>()
        const waiting = Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(gate))
        const { member } = yield* linked({
          onServer: (event, body) =>
            event === "slow" ? Effect.as(waiting, [jsonBody("late")]) : Effect.succeed([body])
        })
        const slow = yield* Effect.forkChild(member.request("slow", jsonBody({}), minute))
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(slow)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* request(member, "one", 1), [1])
      })
    )

    const onBug: MessageHandler = (event, body) => (event === "bug" ? Effect.die("a bug") : Effect.succeed([body]))
    live("sends an empty reply when a handler fails, and keeps the link", { onServer: onBug }, function* ({ member }) {
      assert.deepStrictEqual(yield* request(member, "bug"), [])
      assert.deepStrictEqual(yield* request(member, "one", 1), [1])
    })
  })
}

describe("Transport", () => {
  contract("in memory", inMemory)
  contract("over TCP", overTcp())
  contract("over TLS", overTcp(Buffer.alloc(32, 1)))
  for (const [engine, server] of engines) {
    contract(`over Socket.IO with ${engine}`, overSocketIo(server, ["polling", "websocket"]))
    contract(`over Socket.IO with ${engine}, polling only`, overSocketIo(server, ["polling"]))
    contract(`over Socket.IO with ${engine}, WebSocket only`, overSocketIo(server, ["websocket"]))
  }

  it.live("delivers the disconnect of a polling member before its process ends", () =>
    Effect.gen(function* () {
      const site = yield* overSocketIo(RelayServer.layer, ["polling"])()
      yield* Effect.scoped(site.connect())
      const { closed } = yield* site.accepted
      assert.isTrue(yield* Deferred.isDone(closed))
    })
  )
})
